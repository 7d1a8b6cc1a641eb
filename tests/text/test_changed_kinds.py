"""Placeholders that a corpus keeps, or does not."""

from typing import Any

import pytest

from multihead.text.changed_kinds import (
    LETTERLESS,
    WHOLE_LINES,
    changed_kinds,
    keeps_integers,
    kept_identifiers,
    lost_digits,
    not_kept,
    translated_words,
)
from multihead.text.placeholder_patterns import CARRIED, find

KEPT = [(f"es kostet {n},5 Euro", f"it costs {n},5 euros") for n in range(13)]
DATES = [(f"am {n}.11.2026", f"on 2026-11-{n}") for n in range(10, 23)]
YEARS = [(f"im Jahr {n}", f"in {n}") for n in range(1500, 1701)]
PRICES = [
    (f"es kostet {n // 7}.{n},{n % 89 + 10} €", f"it costs €{n // 7},{n}.{n % 89 + 10}")
    for n in range(100, 201)
]
CLOCK = [
    (f"um {n}:{m}", f"at {n - 12}:{m}" if n > 12 else f"at {n}:{m}") for n in range(24) for m in range(11, 18)
]


@pytest.mark.parametrize(
    ("pairs", "changed"),
    [
        ([], ()),
        ([(f"Mon. Apr. {n} '{n}", f"on day {n} of month four") for n in range(10, 40)], (WHOLE_LINES,)),
        ([(f"Mon. Apr. {n} '{n}", f"on day {n} of month four") for n in range(10, 39)], ()),
        ([("Ein Hund. Er läuft.", "A dog. It runs.")] * 31, ()),
        (KEPT, ()),
        (DATES, ("number",)),
        (DATES[:9], ()),
        (DATES + KEPT[:1], ("number",)),
        (DATES + KEPT[:5], ()),
        ([(f"{n}.11.2026", f"2026-11-{n}") for n in range(10, 23)], (LETTERLESS, "number")),
        ([(f"{n} + {n}", str(2 * n)) for n in range(13)], (LETTERLESS,)),
        ([("... --- ...", "sos"), (".... ..", "hi")] * 7, (LETTERLESS,)),
        ([(f"{n}.5", f"{n}.5") for n in range(13)], ()),
        (YEARS + PRICES, ("digits of number 0.0,0 €", "number 0.0,0 €")),
        (YEARS + PRICES[:99], ()),
        (CLOCK, ()),
        (CLOCK[50:], ("number 0:0",)),
        ([("see https://a.example/b", "siehe https://a.example/b")] * 13, ()),
        ([("see https://a.example/b", "siehe dort")] * 13, ("url",)),
    ],
)
def test_what_hardly_any_target_keeps_is_changed(
    pairs: list[tuple[str, str]], changed: tuple[str, ...]
) -> None:
    assert changed_kinds(pairs) == changed


@pytest.mark.parametrize(
    ("without", "kept"),
    [
        ((), ["2026", "13:45", "7,5", "a@b.example"]),
        (("number 0:0",), ["2026", "7,5", "a@b.example"]),
        (("number 0:0", "number 0,0"), ["2026", "a@b.example"]),
        (("number", "email"), []),
    ],
)
def test_changed_shapes_are_not_carried(without: tuple[str, ...], kept: list[str]) -> None:
    found = find("2026 um 13:45 waren es 7,5 Liter, an a@b.example", without=without)
    assert [span.text for span in found] == kept


@pytest.mark.parametrize(
    ("target", "lost"),
    [
        ("from 3.5 to 3.5 l, 1,250.00 €", []),
        ("from €1,250.00 to 3.5 and 3.5", []),
        ("from 3.5 to 3.6 l, 1,250.00 €", ["3,5"]),
        ("from 3.5 to 3.5 l, 1,250.0 €", ["1.250,00 €"]),
        ("nothing", ["3,5", "3,5", "1.250,00 €"]),
    ],
)
def test_numbers_whose_digits_are_lost_are_named(target: str, lost: list[str]) -> None:
    assert lost_digits(find("von 3,5 bis 3,5 oder 1.250,00 €"), target) == lost


TOOLS = [(f"install lib{n}x here", f"lib{n}x hier") for n in range(100)]
PACKAGES = [(f"the {'k' * n}zx-dev", f"das {'k' * n}zx-dev") for n in range(100)]
COMPOUNDS = [(f"a {'b' * (2 + n)}-file", "eine Datei") for n in range(100)] + [("a file", "eine Datei")] * 3
FILMS = [("a DVD film", "ein Film")] * 3 + [("the DVD", "die DVD")] * 2


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        ([], []),
        (TOOLS, ["digits"]),
        (TOOLS[1:], []),  # too few to tell
        ([(source, "nichts") for source, _ in TOOLS], []),
        (TOOLS + [(f"x{n}y", "nichts") for n in range(49)], ["digits"]),
        (TOOLS + [(f"x{n}y", "nichts") for n in range(50)], []),
        (PACKAGES, ["hyphens"]),
        (PACKAGES + COMPOUNDS, ["hyphens"]),  # a file is translated, and so is whatever has it as a part
        (COMPOUNDS[:100], []),
    ],
)
def test_a_corpus_decides_which_identifiers_are_kept(pairs: list[tuple[str, str]], kept: list[str]) -> None:
    assert kept_identifiers(pairs, translated_words(pairs)) == kept


@pytest.mark.parametrize(("count", "changed", "kept"), [(90, 10, True), (90, 11, False), (99, 0, False)])
def test_a_corpus_decides_whether_integers_are_kept(count: int, changed: int, kept: bool) -> None:
    pairs = [("7 Hunde", "7 dogs")] * count + [("2 Hunde", "two dogs")] * changed
    assert keeps_integers(pairs) == kept


def test_words_that_most_targets_lack_are_translated() -> None:
    assert translated_words(FILMS) == ["DVD", "film", "the"]
    assert translated_words(FILMS[1:]) == ["film", "the"]  # half of the DVDs are kept
    assert translated_words(FILMS[2:4]) == []  # once each, but for the kept DVD
    assert sorted(translated_words([("gtk3 and Gtk", "Gtk")] * 3)) == ["and", "gtk3"]


def test_a_run_that_never_learned_identifiers_carries_none() -> None:
    text = "gtk3, TCP/IP, --help, foo_bar, libX, apt-get, ASCII, 3.5"
    assert [span.text for span in find(text, CARRIED, not_kept({}))] == ["3.5"]


def test_a_translated_word_stays_but_not_in_what_has_digits_or_signs() -> None:
    data = {"kept": ["digits", "signs", "hyphens", "joined names"], "translated": "panel bit Pure"}
    text = "xfce4-panel 12-bit x_y-panel apt-panel Pure-Panel Wi-Panel apt-get"
    assert [span.text for span in find(text, CARRIED, not_kept(data))] == [
        "xfce4-panel",
        "x_y-panel",
        "apt-get",
    ]


@pytest.mark.parametrize(
    ("data", "carried"),
    [
        ({"kept": ["digits", "capitals"]}, ["gtk3", "12-bit", "ASCII", "3.5"]),
        ({"kept": ["digits"], "changed": ["number"]}, ["gtk3", "12-bit"]),
        ({"kept": ["integers"]}, ["12", "3.5"]),
        ({"kept": ["digits"], "translated": "bit gtk3"}, ["3.5"]),
        ({"kept": ["digits"], "translated": "bit gtk3 get"}, ["3.5"]),
        ({"kept": ["hyphens", "joined names"], "translated": "get"}, ["Wi-Fi", "3.5"]),
    ],
)
def test_what_the_corpus_translates_stays(data: dict[str, Any], carried: list[str]) -> None:
    text = "gtk3, 12-bit, apt-get, Get-It, Wi-Fi, ASCII, 3.5"
    assert [span.text for span in find(text, CARRIED, not_kept(data))] == carried
