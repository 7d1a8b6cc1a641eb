"""Whole documents of every format, translated and judged by readers that share no code with ours."""

import io
import json
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from document_samples import samples
from scripted_translator import ScriptedTranslator

from multihead.apps.documents.translating_documents import DocumentRequest, Summary, translate_document
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.training import train
from multihead_documents import Markup, open_document

SAMPLES = samples()


@pytest.fixture(scope="module")
def translator() -> TextTranslator:
    tokenizer = train(["Ein Hund läuft {%}. <br>"] * 3, TokenizerSettings(kind="chars", vocab_size=400))
    return TextTranslator(ScriptedTranslator(tokenizer, lambda line, settings: [line.upper()]), "de", "en")


def translated(name: str, folder: Path, translator: TextTranslator) -> tuple[Path, Summary]:
    path, output = folder / name, folder / f"out-{name}"
    path.write_bytes(SAMPLES[name])
    return output, translate_document(
        DocumentRequest(path, output, SearchSettings(), again=True), translator, []
    )


def _plain(markup: Markup) -> str:
    return "".join(piece for piece in markup.pieces if isinstance(piece, str))


def letters(text: str) -> str:
    return "".join(letter for letter in text.upper() if letter.isalpha())


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_translated_and_read_again(
    name: str, translator: TextTranslator, tmp_path: Path
) -> None:
    output, summary = translated(name, tmp_path, translator)
    before, after = open_document(tmp_path / name), open_document(output)
    assert len(after.segments) == len(before.segments) == summary.translated
    for old, new in zip(before.segments, after.segments, strict=True):
        written = new.target if new.target is not None else new.source
        # What must survive is in lower case too, so letters are compared without case.
        assert letters(_plain(written)) == letters(_plain(old.source)), old.place
        assert len(written.tags) == len(old.source.tags)


def test_python_docx_reads_the_translation(translator: TextTranslator, tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    output, _ = translated("letter.docx", tmp_path, translator)
    old, new = (docx.Document(str(path)) for path in (tmp_path / "letter.docx", output))
    assert len(new.paragraphs) == len(old.paragraphs)
    assert [p.style.name for p in new.paragraphs] == [p.style.name for p in old.paragraphs]
    changed = [b.text for a, b in zip(old.paragraphs, new.paragraphs, strict=True) if a.text != b.text]
    assert changed
    assert all(text == text.upper() or "{" in text or "@" in text or "http" in text for text in changed)
    assert len(new.tables) == len(old.tables)


ARCHIVES = ("letter.docx", "talk.pptx", "prices.xlsx", "book.epub", "letter.odt", "talk.odp", "prices.ods")


def test_parts_of_an_archive_that_hold_no_text_are_unchanged(
    translator: TextTranslator, tmp_path: Path
) -> None:
    for name in ARCHIVES:
        output, _ = translated(name, tmp_path, translator)
        old, new = (zipfile.ZipFile(path) for path in (tmp_path / name, output))
        assert new.testzip() is None
        assert new.namelist() == old.namelist()
        same = [part for part in old.namelist() if old.read(part) == new.read(part)]
        assert any(part.endswith(".png") for part in same)
        assert len(same) > 2


@pytest.mark.parametrize("name", ["ko.po", "ru.po"])
def test_polib_and_translate_toolkit_read_the_catalogue(
    name: str, translator: TextTranslator, tmp_path: Path
) -> None:
    polib, pypo = pytest.importorskip("polib"), pytest.importorskip("translate.storage.pypo")
    output, _ = translated(name, tmp_path, translator)
    found = [entry for entry in polib.pofile(str(output), check_for_duplicates=True) if not entry.obsolete]
    assert all(entry.translated() or entry.fuzzy for entry in found)
    other = [unit for unit in pypo.pofile.parsefile(str(output)).units if unit.istranslatable()]
    assert len(other) == len(found)
    assert all(unit.target for unit in other)


@pytest.mark.parametrize("name", ["one.xlf", "two.xlf"])
def test_translate_toolkit_reads_the_xliff(name: str, translator: TextTranslator, tmp_path: Path) -> None:
    toolkit = pytest.importorskip("translate.storage.xliff").xlifffile
    if "two" in name:
        toolkit = pytest.importorskip("translate.storage.xliff2").Xliff2File
    output, _ = translated(name, tmp_path, translator)
    before, after = (toolkit.parsefile(str(path)).units for path in (tmp_path / name, output))
    assert [unit.source for unit in after] == [unit.source for unit in before]
    assert [unit.getid() for unit in after] == [unit.getid() for unit in before]
    assert any(unit.target and unit.target.upper() == unit.target for unit in after)


class _Elements(HTMLParser):
    """Collects the start tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)


def test_a_page_has_the_same_elements(translator: TextTranslator, tmp_path: Path) -> None:
    output, _ = translated("page.html", tmp_path, translator)
    elements = []
    for path in (tmp_path / "page.html", output):
        parser = _Elements()
        parser.feed(path.read_text(encoding="utf-8"))
        elements.append(parser.found)
    assert sorted(elements[0]) == sorted(elements[1])


def test_messages_keep_their_keys(translator: TextTranslator, tmp_path: Path) -> None:
    output, _ = translated("messages.json", tmp_path, translator)
    old, new = (json.load(io.BytesIO(path.read_bytes())) for path in (tmp_path / "messages.json", output))
    assert _keys(new) == _keys(old)


def _keys(value: object) -> object:
    if isinstance(value, dict):
        return {key: _keys(inner) for key, inner in value.items()}
    return [_keys(inner) for inner in value] if isinstance(value, list) else type(value).__name__


def test_subtitles_keep_their_times(translator: TextTranslator, tmp_path: Path) -> None:
    pysubs2 = pytest.importorskip("pysubs2")
    for name in ("film.srt", "film.vtt"):
        output, _ = translated(name, tmp_path, translator)
        old, new = (
            pysubs2.load(str(path), keep_unknown_html_tags=True) for path in (tmp_path / name, output)
        )
        assert [(one.start, one.end) for one in new] == [(one.start, one.end) for one in old]
