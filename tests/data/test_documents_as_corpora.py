"""TMX, XLIFF, PO and subtitles as training data."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from multihead.cli import main
from multihead.data.pairs import read_marked_pairs, read_pairs
from multihead.data.prepare import prepare
from multihead.data.prepare_corpora import prepare_corpora
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.run import Run
from multihead.text.marked import MarkedTokenizer
from multihead.text.symbols import STANDARD

NUMBERS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "fünf": "five"}
BOLD = '<bpt i="1">&lt;b&gt;</bpt>{}<ept i="1">&lt;/b&gt;</ept>'
BOMB = '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
EXTERNAL = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
XLIFF = (
    '<xliff version="1.2"><file source-language="de" target-language="en"><body>'
    '<trans-unit id="1"><source>Haus</source><target>house</target></trans-unit></body></file></xliff>'
)


def unit(german: str, english: str) -> str:
    sides = {"de-AT": german, "en": english}
    variants = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in sides.items())
    return f"<tu>{variants}</tu>\n"


def memory(units: Sequence[str], doctype: str = "") -> str:
    body = "".join(units)
    return f'<?xml version="1.0"?>{doctype}<tmx version="1.4"><header srclang="de"/><body>{body}</body></tmx>'


def some_units() -> list[str]:
    """Return 125 units of three number words, the middle one bold."""
    return [
        unit(f"{a} {BOLD.format(b)} {c}", f"{NUMBERS[a]} {BOLD.format(NUMBERS[b])} {NUMBERS[c]}")
        for a in NUMBERS
        for b in NUMBERS
        for c in NUMBERS
    ]


def settings(folder: Path, **given: object) -> DataSettings:
    return DataSettings.model_validate(
        {"dir": str(folder), "source_language": "de", "target_language": "en", **given}
    )


def all_pairs(folder: Path, *names: str, **given: object) -> list[tuple[str, str]]:
    return list(read_pairs(settings(folder, **given), names[:1], names[1:]))


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")


def test_each_format_is_read_as_plain_pairs(tmp_path: Path) -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"
    write(
        tmp_path,
        memory__tmx=memory(some_units()[:2]),
        messages__po='msgid ""\nmsgstr "Language: en\\n"\n\nmsgid "Haus"\nmsgstr "house"\n',
        texts__xlf=XLIFF.format(
            '<trans-unit id="1"><source>Haus</source><target>house</target></trans-unit>'
        ),
        film__de__srt=cue.format("<i>Haus</i>"),
        film__en__srt=cue.format("house"),
    )
    assert all_pairs(tmp_path, "memory.tmx") == [
        ("eins eins eins", "one one one"),
        ("eins eins zwei", "one one two"),
    ]
    for names in (("messages.po",), ("texts.xlf",), ("film.de.srt", "film.en.srt")):
        assert all_pairs(tmp_path, *names) == [("Haus", "house")], names
    unfinished = "<message><source>Hund</source><translation type='unfinished'>?</translation></message>"
    target = '{"localizations": {"en": {"stringUnit": {"state": "translated", "value": "house"}}}}'
    write(
        tmp_path,
        app__xcstrings='{"sourceLanguage": "de", "strings": {"Haus": ' + target + ', "Hund": {}}}',
        app__ts="<TS><context><message><source>Haus</source><translation>house</translation></message>"
        f"{unfinished}</context></TS>",
    )
    assert all_pairs(tmp_path, "app.xcstrings") == [("Haus", "house")]
    assert all_pairs(tmp_path, "app.ts", format="qt") == [("Haus", "house")]
    write(tmp_path, text__de="Haus\n", text__ts="yindlu\n")  # Tsonga
    assert all_pairs(tmp_path, "text.de", "text.ts") == [("Haus", "yindlu")]
    (tmp_path / "memory.tmx").rename(tmp_path / "memory.xml")
    assert len(all_pairs(tmp_path, "memory.xml", format="tmx")) == 2


def test_inline_markup_becomes_symbols_and_text_like_a_symbol_stays_text(tmp_path: Path) -> None:
    both = unit(f"ein {BOLD.format('Haus')} <ph/> &lt;g0&gt;", f"a {BOLD.format('house')}<ph/> &lt;g0&gt;")
    lost = unit(f"ein {BOLD.format('Haus')}", "a house")
    write(tmp_path, memory__tmx=memory([both, lost]))
    data = settings(tmp_path)
    marked = list(read_marked_pairs(data, ["memory.tmx"], [], STANDARD))
    assert marked == [
        ("ein <g0>Haus</g0> <x0/> <\\g0>", "a <g0>house</g0><x0/> <\\g0>"),
        ("ein Haus", "a house"),
    ]
    bare = list(read_marked_pairs(data, ["memory.tmx"], [], ()))
    assert bare[0] == ("ein Haus  <\\g0>", "a house <\\g0>")


def test_a_vocabulary_with_symbols_stores_the_markup_and_one_without_leaves_it_out(tmp_path: Path) -> None:
    write(tmp_path, memory__tmx=memory(some_units()))
    for symbols, shown in (((*STANDARD,), "<g0>"), ((), "")):
        kind = TokenizerSettings(kind="chars", vocab_size=400, symbols=symbols)
        found = prepare(settings(tmp_path, source=("memory.tmx",), cache=str(tmp_path / "cache")), kind)
        text = MarkedTokenizer(found.source_tokenizer).decode(found.train.source(0))
        assert ("<g0>" in text) == bool(shown)
        assert not any("<" in side for pair in found.valid_pairs for side in pair)
        assert len(found.train) + len(found.valid_pairs) + found.shared == 125


def test_the_languages_of_a_memory_are_part_of_what_is_cached(tmp_path: Path) -> None:
    write(tmp_path, memory__tmx=memory(some_units()))
    kind = TokenizerSettings(kind="chars", vocab_size=400)
    first = settings(tmp_path, source=("memory.tmx",), cache=str(tmp_path / "cache"))
    there = prepare(first, kind)
    back = prepare(first.model_copy(update={"source_language": "en", "target_language": "de"}), kind)
    assert there.fingerprint != back.fingerprint
    assert {a for a, _ in there.valid_pairs} == {b for _, b in back.valid_pairs}


def test_several_corpora_may_be_memories(tmp_path: Path) -> None:
    write(tmp_path, memory__tmx=memory(some_units()))
    data = DataSettings.model_validate(
        {"corpus": {"de-en": [str(tmp_path / "memory.tmx")]}, "cache": str(tmp_path / "cache")}
    )
    found = prepare_corpora(data, TokenizerSettings(kind="chars", vocab_size=400, symbols=STANDARD))
    text = MarkedTokenizer(found.tokenizer).decode(found.directions[0].prepared.train.source(0))
    assert text.startswith("<2en>")
    assert "<g0>" in text


@pytest.mark.parametrize("codes", [("deu", "eng"), ("ger", "EN"), ("de_AT", "en-GB")])
def test_a_file_may_spell_its_languages_otherwise(codes: tuple[str, str], tmp_path: Path) -> None:
    def spelt(text: str) -> str:
        return (
            text.replace('"de-AT"', f'"{codes[0]}"')
            .replace('"de"', f'"{codes[0]}"')
            .replace('"en"', f'"{codes[1]}"')
        )

    write(tmp_path, a__tmx=spelt(memory([unit("Haus", "house")])), a__xliff=spelt(XLIFF))
    for name in ("a.tmx", "a.xliff"):
        assert all_pairs(tmp_path, name) == [("Haus", "house")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (memory(['<tu><tuv xml:lang="de"><seg>Haus</seg></tuv></tu>']), "no unit in both de and en"),
        (memory([unit("&a;", "b")], BOMB), "entit"),
        (memory([unit("&a;", "b")], EXTERNAL), "entit"),
        (memory([unit("a", "b")])[:-9], "not well-formed|cut off|ends"),
        ("a\nb\n", "not well-formed|not a TMX|XML"),
    ],
    ids=["one language", "bomb", "external", "cut off", "no XML"],
)
def test_a_bad_memory_is_refused_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, memory__tmx=text)
    with pytest.raises(UserError, match=message) as caught:
        all_pairs(tmp_path, "memory.tmx")
    assert (caught.value.place or "").startswith(str(tmp_path / "memory.tmx"))


def test_a_memory_without_languages_lists_those_it_has(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    write(tmp_path, memory__tmx=memory(some_units()))
    assert main(["train", "--src", str(tmp_path / "memory.tmx")]) == 2
    message = capfdbinary.readouterr().err.decode()
    assert "the file has: de-AT, en" in message
    assert "--source-language" in message


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("film.srt",), "one side only.*other language's subtitles"),
        (("film.srt", "lines.en"), "has no times"),
        (("memory.tmx", "lines.en"), "a TMX file already holds both sides"),
    ],
)
def test_files_that_do_not_go_together_are_refused(
    names: Sequence[str], message: str, tmp_path: Path
) -> None:
    write(tmp_path, film__srt="", lines__en="a\n", memory__tmx="")
    with pytest.raises(UserError) as caught:
        all_pairs(tmp_path, *names)
    assert re.search(message, f"{caught.value.fact} {caught.value.remedy}")


def test_a_translator_is_trained_on_a_memory(tmp_path: Path) -> None:
    write(tmp_path, memory__tmx=memory(some_units()))
    tiny = {"d_model": 16, "d_ff": 24, "num_layers": 1, "num_heads": 2}
    keys = [word for key, value in tiny.items() for word in (f"--model.{key}", str(value))]
    keys += ["--training.steps", "2", "--training.threads", "1", "--data.cache", str(tmp_path / "cache")]
    command = ["train", "--src", str(tmp_path / "memory.tmx"), "--src-lang", "de", "--tgt-lang", "en"]
    assert main([*command, "--run", str(tmp_path / "run"), *keys]) == 0
    recipe = Run.open(tmp_path / "run").recipe
    assert (recipe.name, recipe.data.source_language, recipe.data.target_language) == ("de-en", "de", "en")
