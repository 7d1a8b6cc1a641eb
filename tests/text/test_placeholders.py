"""Placeholders: found by rule, carried as symbols, put back without loss; hostile texts take linear time."""

import random
import time

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from multihead.recipe.settings import TokenizerSettings
from multihead.text import placeholder_patterns, symbols
from multihead.text.marked import MarkedTokenizer
from multihead.text.placeholder_patterns import KINDS, find
from multihead.text.placeholders import PlaceholderReport, protect, restore
from multihead.text.training import train


def items(text: str) -> list[str]:
    return text.split("¦")


FOUND = {
    "icu": [
        "{n, plural, one {# file} other {# files}}",
        "{who, select, female {{n, plural, one {her {x}} other {hers}}} other {their}}",
        "{n, number, percent}",
        "{n, plural, one {it's '{'one'}'} other {# left}}",
        "{0, choice, 0#none|1#one}",
    ],
    "variable": items(
        "{name}¦{0}¦{}¦{user.name}¦{items[0]}¦{x!r:>10}¦{x:{width}.2f}¦{ name }¦{{var}}¦{{{raw}}}¦"
        "{{ x | upper }}¦<%= x.y %>¦<?= $x ?>¦${x}¦%{count}¦#{x}¦{% if x %}¦$name¦"
        "{#an-id .x}¦{.x}¦$NAME$¦$first_name$¦$t(a.b, {'x': 1})¦{이름}"
    ),
    "printf": items("%s¦%d¦%(count)d¦%1$s¦%-10.2f¦%5d¦%*d¦%lld¦%%¦%@¦%n¦%1¦%L2¦%#@files@¦%2$#@n@¦%arg"),
    "tag": items(
        "<b>¦</b>¦<br/>¦<br />¦<a href=\"x.html\" class='y'>¦<input disabled>¦<!-- a > b -->¦<0>¦"
        "</0>¦<g id='1'>¦<x:y z=\"{u}\"/>¦<ph0>"
    ),
    "entity": items("&nbsp;¦&#160;¦&#xA0;¦&amp;"),
    "url": items(
        "https://a.b/c?d=e&f=g#h¦http://x.y/(z)¦ftp://a.b¦www.example.com/a¦mailto:a@b.de¦"
        "https://a.b/{id}/c¦https://de.wikipedia.org/wiki/Köln¦http://localhost:8000/¦example.com"
    ),
    "email": items("jane.doe@example.co.uk¦a+b@c-d.de"),
    "path": items("/usr/bin/env¦~/a.txt¦./a/b¦../x¦C:\\Users\\x.txt¦\\\\host\\share\\x¦src/a.py¦README.md"),
    "number": items(
        "1.234,56 €¦3,5 %¦12:30¦2026-11-24¦2026-11-24T12:30:00Z¦24.11.2026¦$3.50¦US$ 5¦5 km/h¦"
        "-5.3 °C¦1e-5¦10–20 %¦1 234,56 €¦192.168.0.1¦v2.3.1¦+49 30 123456¦+49 (0)30 1234¦1'000¦3:1¦"
        "50%¦5kg¦220V¦½¦2½¦2019¦€ 5¦1,234.56¦3/4¦2.0.0-rc1¦16:9¦5 MB¦20 m²"
    ),
    "integer": items("7¦42"),
    "identifier": items(
        "--help¦-x¦--no-install-recommends¦gtk3¦TCP/IP¦foo_bar¦libX¦McKenzie¦apt-get¦ASCII¦l10n¦UTF-8¦simg2img¦"
        "org.gnome.Maps¦std::vector¦x86-64¦1.2.3-4ubuntu1¦A4¦libstdc++6¦user@host"
    ),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind in FOUND for text in FOUND[kind]])
def test_what_must_survive_is_found_whole(kind: str, text: str) -> None:
    assert set(FOUND) == set(KINDS) - {"unknown"}  # depends on a vocabulary
    for before, after in (
        ("", ""),
        ("Say ", " now."),
        ("(", ")"),
        ("값: ", " 입니다"),
        ("das ist ", ", oder?"),
    ):
        spans = find(before + text + after, KINDS)
        assert [(span.kind, span.text) for span in spans] == [(kind, text)]
        assert spans[0].start == len(before)


@given(st.text("aBw1-_./:@<>{}%$&~+#½é€\\ ,!", max_size=23))
def test_the_first_look_at_a_text_misses_nothing(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placeholder_patterns, "_ANYTHING", regex.compile(""))
        expected = find(text, KINDS)
    assert find(text, KINDS) == expected


def test_an_identifier_that_stays_does_not_hide_what_is_in_it() -> None:
    text = "gtk-2.0, lib3.5x, 1.5-foo, src/a.py"
    everything = ["gtk-2.0", "lib3.5x", "1.5-foo", "src/a.py"]
    assert [span.text for span in find(text, KINDS)] == everything
    assert [span.text for span in find(text)] == ["2.0", "1.5", "src/a.py"]
    assert [span.text for span in find(text, KINDS, ["identifier digits"])] == ["2.0", "1.5", "src/a.py"]
    assert [span.text for span in find(text, KINDS, ["word gtk-2.0"])] == ["2.0", *everything[1:]]


@pytest.mark.parametrize(
    "text",
    [
        "{name}",
        "$NAME$",
        "$t(a)",
        "https://a.b/c",
        "hong@example.co.kr",
        "%s",
        "3.5",
        "5km",
        "/home/kim/a.txt",
        "C:\\x",
    ],
)
@pytest.mark.parametrize("particle", ["를 봅니다", "에서", "입니다.", "の", "です。", "，好"])
def test_particles_may_follow_without_a_space(text: str, particle: str) -> None:
    if text == "C:\\x":
        text = "C:\\x "
    assert [span.text for span in find(text + particle)] == [text.rstrip()]


@pytest.mark.parametrize(
    "text",
    [
        "and/or, he/she, yes or no; i.e. this",
        "the %age of people, a 100% sure %discount? % sure",
        "x<y and y>z, a < b, c > d, <3",
        "{1, 2, 3} {a: b} { }",
        "1st 2nd 3D A4 H2O x86 i18n",
        "I am 3 men, 42 years",
        "R&D; AT&T &c",
        "Is it? Yes! (No.) ... end.",
        "'tis o'clock don't",
        "a@b, @home, c.d.e",
        "안녕하세요. 저는 학생입니다.",
    ],
)
def test_plain_words_are_left_alone(text: str) -> None:
    assert [span.text for span in find(text) if span.text not in ("100%", "AT&T")] == []


def test_punctuation_around_an_address_is_not_part_of_it() -> None:
    text = "See https://a.b/c(d). (http://x.y/z), [https://e.f]; 'www.g.com'! https://h.i/?"
    urls = ["https://a.b/c(d)", "http://x.y/z", "https://e.f", "www.g.com", "https://h.i/"]
    assert [span.text for span in find(text)] == urls


ATOMS = [text for kind in FOUND if kind != "integer" for text in FOUND[kind]]
WORDS = [
    "the",
    "Haus",
    "und",
    "서버를",
    "日本",
    "it's",
    "(see)",
    "100",
    "a.",
    "—",
    "<ph3>",
    "<\\g0>",
    "\\",
    "{",
    "<",
    "%",
    "\n",
]


def generated(chance: random.Random) -> str:
    """A sentence of words and placeholders, with tags around parts of it, three deep at most."""

    def part(depth: int) -> str:
        count = chance.randint(1, 4) if chance.random() < 0.98 else 61
        pieces = [chance.choice(ATOMS if chance.random() < 0.4 else WORDS) for _ in range(count)]
        if depth and chance.random() < 0.6:
            name = chance.choice(["b", "i", "a", "g", "0"])
            attribute = ' href="{u}"' if name == "a" else ""
            inside = f"<{name}{attribute}>{part(depth - 1)}</{name}>"
            pieces.insert(chance.randint(0, len(pieces)), inside)
        return chance.choice(["", " ", "  "]).join(pieces)

    return part(3)


def test_of_10000_generated_strings_none_loses_anything() -> None:
    chance = random.Random(7)
    protected_spans = left = nested = 0
    for _ in range(10_000):
        text = generated(chance)
        protected, table = protect(text)
        assert restore(protected, table) == (text, PlaceholderReport())
        for entry in table.entries:
            assert text[entry.span.start : entry.span.end] == entry.span.text
            assert protected.count(entry.symbol) == 1
        order = [part for part, is_symbol in symbols.split(protected) if is_symbol]
        assert order == [entry.symbol for entry in table.entries]
        protected_spans += len(table.entries)
        left += len(table.left)
        nested += protected.count("<g1>")
    assert protected_spans > 40_000
    assert left > 100
    assert nested > 1_000


@settings(max_examples=73)
@given(
    text=st.lists(st.sampled_from([*ATOMS, *WORDS, " ", "}", ">", "'", '"']), max_size=40).map("".join)
    | st.text()
)
@example("<b><i></b></i></b><b>")
@example("<ph0> {ph0} <\\ph0> &lt;ph0>")
@example("{n, plural, one {{n, plural, one {x} other {y}}")
@example("{a, select, x {'{'} other {}}}")
def test_what_is_protected_is_restored(text: str) -> None:
    for reserved in (symbols.STANDARD, (), ("<ph3>", "<ph7>", "<g0>", "<g1>", "</g1>")):
        for kinds in (KINDS, ("tag",), ()):
            protected, table = protect(text, reserved, kinds)
            assert restore(protected, table) == (text, PlaceholderReport())
            assert {entry.symbol for entry in table.entries} <= set(reserved)
            assert len(table.entries) + len(table.left) == len(find(text, kinds))


def test_tags_become_pairs_and_others_stand_alone() -> None:
    protected, table = protect('<p>One<br>two <a href="{u}">three</a> <img src="x"/> <i>four</p>')
    assert protected == "<g0>One<x0/>two <g1>three</g1> <x1/> <x2/>four</g0>"
    assert [entry.span.text for entry in table.entries][2] == '<a href="{u}">'
    many = "".join(f"<b{number}>" for number in range(30)) + "".join(
        f"</b{number}>" for number in reversed(range(30))
    )
    protected, table = protect(many)
    assert len(table.entries) == 16 + 16
    assert len(table.left) == 60 - 32
    assert "<g8>" not in protected


def test_what_a_translation_does_to_placeholders_is_reported() -> None:
    protected, table = protect("<b>{a}</b> and {b} or {c} of 1.5 %")
    assert protected == "<g0><ph0></g0> and <ph1> or <ph2> of <ph3>"

    def after(text: str) -> PlaceholderReport:
        return restore(text, table).report

    assert after("<ph3>: <ph1>, <g0><ph0></g0>, <ph2>").whole
    assert after("<ph1> und <g0><ph0></g0> oder <ph2> von <ph3>").moved == ("{b}",)
    assert after("<g0><ph0></g0> <ph1> <ph2>") == PlaceholderReport(lost=("1.5 %",))
    assert after(f"{protected} <ph1>") == PlaceholderReport(doubled=("{b}",))
    assert after(f"{protected} <ph9> <2de> <ph9>") == PlaceholderReport(foreign=("<ph9>", "<2de>"))
    crossed = after("</g0><ph0><g0> <ph1> <ph2> <ph3>")
    assert crossed.crossed == ("</b>", "<b>")
    assert not crossed.whole
    assert restore("<ph0> <\\ph1> <ph9>!", table).text == "{a} <ph1> !"
    assert restore("", table).report.lost == ("<b>", "{a}", "</b>", "{b}", "{c}", "1.5 %")


def test_the_fewest_that_explain_an_order_are_named() -> None:
    _, table = protect(" ".join(f"{{v{number}}}" for number in range(7)))
    order = [5, 0, 1, 3, 2, 4, 6]
    moved = restore(" ".join(f"<ph{number}>" for number in order), table).report.moved
    assert len(moved) == 2
    assert "{v5}" in moved


def test_what_no_symbol_is_left_for_stays_and_is_watched() -> None:
    text = "{a} {b} {b} https://x.y"
    protected, table = protect(text, reserved=["<ph0>"])
    assert protected == "<ph0> {b} {b} https://x.y"
    assert [span.text for span in table.left] == ["{b}", "{b}", "https://x.y"]
    assert restore(protected, table) == (text, PlaceholderReport())
    assert restore("{b} <ph0> (https://x.yz)", table).report == PlaceholderReport(lost=("{b}",))
    assert restore("<ph0>", protect("{a}{a}", reserved=["<ph0>"]).table).report == PlaceholderReport(
        lost=("{a}",)
    )


def test_symbols_go_through_a_tokenizer() -> None:
    source = "Delete <b>{count, plural, one {# file} other {# files}}</b> of 1.234,56 €, <ph0>?"
    texts = ["Delete of files?", source] * 7
    for kind in ("bpe", "unigram", "chars"):
        cut = {"kind": kind, "vocab_size": 353, "symbols": ("standard",)}
        whole = MarkedTokenizer(train(texts, TokenizerSettings.model_validate(cut)))
        protected, table = protect(source, whole.tokenizer.symbols)
        ids = whole.encode(protected)
        assert [id for id in ids if id in whole.tokenizer.symbols.values()]
        assert restore(whole.decode(ids), table) == (source, PlaceholderReport())


UNITS = items(
    '{¦}¦{{¦<¦</¦<a ¦<a b=¦<a "¦<!--¦<!¦%¦%(¦%1$¦1¦1.¦1 ¦111 ¦1:¦-1¦a¦a.¦a@¦@¦a@b.¦/¦/a¦./¦\\¦'
    "C:\\¦http://¦http://a¦http://(¦&¦&a¦&#1¦'{¦{a, plural, ¦{a,plural,one{¦{a[¦{a.b¦${¦{:¦"
    "{a:{¦<b>¦</b>¦<b><i>¦{x}¦<ph0>¦<\\¦~¦€¦€ 1¦+1 ¦a.com.¦a-¦a/b/¦x.y/¦$a¦%5¦[1]¦mailto:¦"
    "{a}{b, select, x {¦v1¦1e¦½¦ ¦A¦한¦http://a{b¦a'b '{¦<?¦<a b='c' ¦1234 "
)


@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_text_takes_linear_time(unit: str) -> None:
    took = []
    for length in (5_003, 40_009):
        text = "<" + unit * (length // len(unit))
        start = time.process_time()
        protected, table = protect(text)
        assert restore(protected, table).text == text
        took.append(time.process_time() - start)
    assert took[1] < 25 * took[0] + 0.5


def test_all_hostile_units_in_one_text_of_100_kb_take_a_second_or_two() -> None:
    chance = random.Random(7)
    text = "".join(chance.choices(UNITS, k=40_009))
    assert len(text) > 100_000
    start = time.process_time()
    protected, table = protect(text)
    assert restore(protected, table).text == text
    assert time.process_time() - start < 5


def test_very_many_different_spans_are_checked_in_linear_time() -> None:
    text = " ".join(str(number) for number in range(1_000, 15_000))
    protected, table = protect(text)
    start = time.process_time()
    assert restore(protected, table).report == PlaceholderReport()
    assert len(restore("", table).report.lost) == 14_000
    assert time.process_time() - start < 5
