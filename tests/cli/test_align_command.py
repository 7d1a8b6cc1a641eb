"""``multihead align``: pairs of documents and their translations."""

import json
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead import cli
from multihead.apps.corpus import aligning
from multihead.apps.corpus.aligning import align_documents
from multihead.apps.documents.finished_documents import find_finished
from multihead.apps.documents.translation_memory import TranslationMemory
from multihead_documents import Markup, Tag, open_document
from multihead_documents.memories.tmx_writing import tmx_lines
from multihead_documents.parallel import read_pairs

GERMAN = """# Einleitung

Guten Tag. Das ist **ein** Haus. Es steht am [See](see.md).

- Punkt eins
- Punkt zwei

`code`

Noch ein langer Absatz, der einiges erklärt und dabei mehrere Zeilen braucht.
"""
ENGLISH = """# Introduction

Good day. This is **a** house. It stands by the [lake](see.md).

- Item one
- Item two

`code`

Another long paragraph, which explains a thing or two and takes several lines.
"""


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Path, Path]:
    """Return a page and its translation."""
    (tmp_path / "a.de.md").write_text(GERMAN, encoding="utf-8")
    (tmp_path / "a.en.md").write_text(ENGLISH, encoding="utf-8")
    return tmp_path / "a.de.md", tmp_path / "a.en.md"


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_memory_has_what_a_translation_looks_up(pages: tuple[Path, Path], capfdbinary: Captured) -> None:
    output = pages[0].parent / "a.tmx"
    _, messages = run(capfdbinary, "align", *pages, "-o", output)
    assert "5 pairs" in messages
    memory = TranslationMemory(output, "de", "en")
    document = open_document(pages[0])
    found = {
        segment.number: match.target
        for segment in document.segments
        if (match := memory.find(segment.source))
    }
    assert document.render(found).decode() == ENGLISH
    assert "`" not in output.read_text(encoding="utf-8")


def test_sentences_are_a_corpus(pages: tuple[Path, Path], capfdbinary: Captured) -> None:
    output = pages[0].parent / "a.tsv"
    run(capfdbinary, "align", *pages, "--sentences", "-o", output)
    assert ["Das ist ein Haus.", "This is a house."] in rows(output)
    assert ["Es steht am See.", "It stands by the lake."] in rows(output)
    assert len(rows(output)) == 7


def test_what_a_translator_added_is_named(pages: tuple[Path, Path], capfdbinary: Captured) -> None:
    added = "A remark that the translator added for those who read English, about the weather, and about "
    added += (
        "many other things that the author of the page did not think of, or did not want to say there.\n\n"
    )
    pages[1].write_text(ENGLISH.replace("Another", f"{added}Another"), "utf-8")
    output = pages[0].parent / "a.tsv"
    _, messages = run(capfdbinary, "align", *pages, "-o", output)
    assert "1 passage without a counterpart" in " ".join(messages.split())
    assert "A remark that the translator added" in messages
    found = dict(rows(output))
    assert found["Punkt zwei"] == "Item two"
    assert next(value for key, value in found.items() if key.startswith("Noch")).startswith("Another")


def test_folders_and_messages(tmp_path: Path, capfdbinary: Captured) -> None:
    for name, texts, pages in (
        ("m.de", ("Hallo Welt.", {"a": "Ja", "b": "Nein, danke"}), ("b.txt", "s.json")),
        ("m.en", ("Hello world.", {"b": "No, thanks", "a": "Yes", "c": "More"}), ("b.en.txt", "s.json")),
    ):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / pages[0]).write_text(f"{texts[0]}\n", encoding="utf-8")
        (tmp_path / name / pages[1]).write_text(json.dumps(texts[1]), encoding="utf-8")
    (tmp_path / "m.de" / "alone.md").write_text("Allein\n", encoding="utf-8")
    (tmp_path / "m.de" / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / "m.de" / "app.po").write_text('msgid "a"\nmsgstr "b"\n', encoding="utf-8")
    output = tmp_path / "m.tmx"
    _, messages = run(capfdbinary, "align", tmp_path / "m.de", tmp_path / "m.en", "-o", output)
    found = {pair.source.text: pair.target.text for pair in read_pairs(output, "de", "en")}
    assert found == {"Hallo Welt.": "Hello world.", "Ja": "Yes", "Nein, danke": "No, thanks"}
    told = " ".join(messages.split())
    assert "alone.md: no translation of it" in told
    assert "2 other files left out" in told
    assert "1 passage without a counterpart" in told


def test_of_several_translations_the_language_decides(tmp_path: Path, capfdbinary: Captured) -> None:
    for name, text in (
        ("m/a.txt", "Ja, gern."),
        ("t/a.en.txt", "Yes, please."),
        ("t/a.fr.txt", "Oui, merci."),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    output = tmp_path / "m.tsv"
    command = ("align", tmp_path / "m", tmp_path / "t", "-o", output)
    assert "Name --target-language." in fail(capfdbinary, *command)
    for code, text in (("fr-CA", "Oui, merci."), ("en", "Yes, please.")):
        run(capfdbinary, *command, "--target-language", code)
        assert rows(output) == [["Ja, gern.", text]]
    (tmp_path / "t" / "a.txt").write_text("Sí, por favor.", encoding="utf-8")
    run(capfdbinary, *command)
    assert rows(output) == [["Ja, gern.", "Sí, por favor."]]


def test_the_run_that_translated_a_document_gives_the_languages(
    pages: tuple[Path, Path], capfdbinary: Captured
) -> None:
    folder = pages[0].parent
    source, target, output = pages[0].rename(folder / "letter.md"), folder / "letter.en.md", folder / "a.tmx"
    pages[1].rename(target)
    assert "known: none to en" in fail(capfdbinary, "align", source, target, "-o", output)
    with find_finished(None) as translated:
        translated.add(source, target, "key", ("de", "en"))
    target.write_text(ENGLISH.replace("lake", "sea"), encoding="utf-8")
    run(capfdbinary, "align", source, target, "-o", output)
    assert 'srclang="de"' in output.read_text(encoding="utf-8")


def test_documents_that_name_other_languages_are_named(tmp_path: Path, capfdbinary: Captured) -> None:
    for folder, codes in (("a", ("de", "fr")), ("b", ("en", "en-GB"))):
        (tmp_path / folder).mkdir()
        for number, code in enumerate(codes):
            text = f'<html lang="{code}"><body><p>{folder} {code} {number}</p></body></html>'
            (tmp_path / folder / f"{number}.html").write_text(text, encoding="utf-8")
    output = tmp_path / "m.tmx"
    _, messages = run(capfdbinary, "align", tmp_path / "a", tmp_path / "b", "-o", output)
    assert "a/1.html names fr as its language, documents before it de" in " ".join(messages.split())
    assert "names en-GB" not in messages
    assert len(list(read_pairs(output, "de", "en"))) == 2


def test_subtitles_are_aligned_by_time(tmp_path: Path, capfdbinary: Captured) -> None:
    cue = "{0}\n00:00:{1:02},000 --> 00:00:{2:02},000\n{3}\n\n"
    (tmp_path / "f.de.srt").write_text(cue.format(1, 1, 2, "Eins.") + cue.format(2, 5, 9, "Fünf bis neun."))
    (tmp_path / "f.en.srt").write_text(
        cue.format(1, 1, 2, "One.") + cue.format(2, 5, 7, "Five to") + cue.format(3, 7, 9, "nine.")
    )
    output = tmp_path / "f.tsv"
    run(capfdbinary, "align", tmp_path / "f.de.srt", tmp_path / "f.en.srt", "-o", output)
    assert rows(output) == [["Eins.", "One."], ["Fünf bis neun.", "Five to nine."]]


def test_a_damaged_document_stops_no_other(tmp_path: Path, capfdbinary: Captured) -> None:
    for name, text in (("m", "Ja, gern."), ("m.en", "Yes, please.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(text, encoding="utf-8")
        (tmp_path / name / "b.docx").write_bytes(b"PK no archive")
    output = tmp_path / "m.tsv"
    assert cli.main(["align", str(tmp_path / "m"), str(tmp_path / "m.en"), "-o", str(output)]) == 1
    assert "a damaged archive" in " ".join(capfdbinary.readouterr().err.decode().split())
    assert rows(output) == [["Ja, gern.", "Yes, please."]]


def test_tags_and_characters_survive_a_memory(tmp_path: Path) -> None:
    text = Markup.of(
        Tag("7", "open"),
        "<a> & \x01 \t",
        Tag("9", "alone"),
        "\n",
        Tag("7", "close"),
        "zu",
        Tag("3", "close"),
        ".",
    )
    path = tmp_path / "a.tmx"
    path.write_text("\n".join(tmx_lines([(text, text)], "de", "pt-BR")), encoding="utf-8")
    pair = next(iter(read_pairs(path, "de", "pt")))
    assert pair.source.text == "<a> & \ufffd \t\nzu."
    assert pair.source == pair.target
    assert [tag.kind for tag in pair.source.tags] == ["open", "alone", "close", "alone"]


def test_a_corrected_translation_is_found_by_its_place(pages: tuple[Path, Path]) -> None:
    pages[1].write_text(
        ENGLISH.replace("This is **a** house", "**Here** you see a house of stone and glass"), "utf-8"
    )
    found = align_documents(*pages)
    assert [pair.target.text.split()[0] for pair in found.pairs] == [
        "Introduction",
        "Good",
        "Item",
        "Item",
        "Another",
    ]
    assert found.alone == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.de.md",), "TRANSLATION is missing"),
        (("a.de.md", "a.en.md"), "--output is missing"),
        (("a.de.md", "a.en.md", "-o", "x.tmx.docx"), "neither .tmx nor .tsv"),
        (("a.de.md", "a.de.md", "-o", "x.tmx"), "a document and its translation are the same"),
        (("a.de.md", "none.md", "-o", "x.tmx"), "none.md: no such file or folder"),
        (("a.de.md", "empty", "-o", "x.tmx"), "one is a folder, the other a document"),
        (("a.de.md", "b.po", "-o", "x.tmx"), "it has both languages itself"),
        (("a.de.md", "b.csv", "-o", "x.tmx"), "a table, which has both sides in its columns"),
        (("a.de.md", "plain.md", "-o", "x.tmx"), "a memory needs both languages; known: de to none"),
        (("a.de.md", "plain.md", "-o", "x.tmx", "--tgt-lang", "de"), "a memory needs both languages"),
        (("a.de.md", "plain.md", "-o", "x.tmx", "--tgt-lang", "e!"), "--target-language"),
        (("a.de.md", "blank.md", "-o", "x.tsv"), "no pair was found"),
        (("empty", "other", "-o", "x.tsv"), "no pair was found"),
        (("copy", "other", "-o", "other/a.tsv"), "no pair was found"),
        (("a.de.md", "a.tsv", "-o", "a.tsv"), "the output would overwrite a document"),
        (("plain.md", "latin.txt", "-o", "x.tsv"), "latin.txt"),
        (("long.txt", "plain.md", "-o", "x.tsv"), "too many to be aligned"),
    ],
)
def test_bad_input_is_refused(
    pages: tuple[Path, Path],
    words: tuple[str, ...],
    said: str,
    capfdbinary: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = pages[0].parent
    monkeypatch.chdir(folder)
    monkeypatch.setattr(aligning, "MOST_PATHS", aligning.MOST_PATHS // 100)
    for name in ("empty", "other", "copy"):
        (folder / name).mkdir()
    (folder / "copy" / "a.md").write_text("Ja\n", encoding="utf-8")
    (folder / "b.po").write_text('msgid "a"\nmsgstr "b"\n', encoding="utf-8")
    (folder / "b.csv").write_text("a,b\n", encoding="utf-8")
    (folder / "a.tsv").write_text("a\tb\n", encoding="utf-8")
    (folder / "plain.md").write_text(ENGLISH, encoding="utf-8")
    (folder / "blank.md").write_text("\n\n", encoding="utf-8")
    (folder / "long.txt").write_text("a\n\n" * 10_007, encoding="utf-8")
    (folder / "latin.txt").write_bytes("Grüße an alle".encode("latin-1"))
    assert said in " ".join(fail(capfdbinary, "align", *words).split())
    assert not (folder / "x.tmx").exists()
    assert not (folder / "x.tsv").exists()
