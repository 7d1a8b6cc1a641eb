"""A document is written byte for byte but for what is translated."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from document_samples import samples

from multihead_documents import FORMATS, Document, Markup, Translation, open_document

SAMPLES = samples()
BILINGUAL = tuple(ending for format in FORMATS if format.bilingual for ending in format.endings)
ARCHIVES = tuple(ending for format in FORMATS if format.is_archive for ending in format.endings)


def opened(folder: Path, name: str, data: bytes | None = None) -> Document:
    path = folder / name
    path.write_bytes(SAMPLES[name] if data is None else data)
    return open_document(path, target_language="ko" if name.endswith(("f", ".xcstrings")) else None)


def plain(document: Document) -> list[object]:
    """Return all that a reader sees of the segments but where they are."""
    return [replace(segment, place="") for segment in document.segments]


def again(word: str, source: Markup) -> Markup:
    """Return the source with one word for each text; tags and the white space beside them stay."""
    return Markup.of(*(_as(piece, word) if isinstance(piece, str) else piece for piece in source.pieces))


def _as(text: str, word: str) -> str:
    if not text.strip():
        return text
    return text[: len(text) - len(text.lstrip())] + word + text[len(text.rstrip()) :]


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_translated_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    document = opened(tmp_path, name)
    assert document.segments
    assert document.render({}) == SAMPLES[name]
    document.write({}, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == SAMPLES[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_one_translation_leaves_all_other_segments_as_they_were(name: str, tmp_path: Path) -> None:
    document = opened(tmp_path, name)
    before = plain(document)
    for segment in document.segments:
        changed = opened(tmp_path, name, document.render({segment.number: again("Wort", segment.source)}))
        after = plain(changed)
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            assert number == segment.number or new == old
        new = changed.segments[segment.number]
        assert str(new.target if Path(name).suffix in BILINGUAL else new.source) == str(
            again("Wort", segment.source)
        )


@pytest.mark.parametrize("name", SAMPLES)
def test_all_translations_at_once_are_those_one_by_one(name: str, tmp_path: Path) -> None:
    document = opened(tmp_path, name)
    targets = {s.number: again(f"Wort{s.number}", s.source) for s in document.segments}
    changed = opened(tmp_path, name, document.render(targets))
    assert len(changed.segments) == len(document.segments)
    for old, new in zip(document.segments, changed.segments, strict=True):
        expected = targets[old.number]
        assert str(new.target if Path(name).suffix in BILINGUAL else new.source) == str(expected)
        assert (new.key, new.note, new.start, new.speaker) == (old.key, old.note, old.start, old.speaker)


@pytest.mark.parametrize(
    "name", [name for name in SAMPLES if Path(name).suffix not in (*BILINGUAL, *ARCHIVES)]
)
def test_only_the_translated_place_changes(name: str, tmp_path: Path) -> None:
    document = opened(tmp_path, name)
    mark = "QQQQQ"
    whole = _without_rules(name, SAMPLES[name])
    for segment in document.segments:
        changed = _without_rules(name, document.render({segment.number: again(mark, segment.source)}))
        word = mark.encode("utf-16-le" if name.startswith("utf16") else "utf-8")
        before, after = changed.split(word)[0], changed.split(word)[-1]
        # quotes are added to an attribute that had none
        assert whole.startswith(before.removesuffix(b'"'))
        assert whole.endswith(after.removeprefix(b'"'))


def _without_rules(name: str, data: bytes) -> bytes:
    """Return a page without the lines below its titles and in its tables, which are as long as these."""
    if not name.endswith(".rst"):
        return data
    data = re.sub(rb"(?m)^(?:([=~-])\1+|\+[-=+]+|=+(?: +=+)+)(?=\r?$)", b"", data)
    return re.sub(rb" {2,}", b" ", data)


def test_a_translation_may_ask_for_review(tmp_path: Path) -> None:
    for name in ("ko.po", "one.xlf", "two.xlf", "app.ts", "Localizable.xcstrings"):
        document = opened(tmp_path, name)
        for review, state in ((True, "needs-review"), (False, "translated")):
            targets = {s.number: Translation(s.source, review) for s in document.segments}
            changed = opened(tmp_path, name, document.render(targets))
            assert {segment.state for segment in changed.segments} - {"final"} == {state}
