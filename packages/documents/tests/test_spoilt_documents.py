"""A document that is spoilt anywhere is read, or refused with an error for the user."""

import os
import random
from pathlib import Path

import pytest
from archive_samples import packed, parts
from document_samples import samples

from multihead_documents import open_document
from multihead_documents.errors import DocumentError

TIMES = int(os.environ.get("TIMES", "8"))
SAMPLES = {name: data for name, data in samples().items() if not name.startswith("crlf")}
WORDS = [
    b"<",
    b">",
    b"&",
    b'"',
    b"'",
    b"\\",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"{",
    b"[",
    b"-->",
    b"]]>",
    b"<!--",
    b"<p>",
]
WORDS += [
    b"</p>",
    b"<w:p>",
    b"<w:r>",
    b"</w:r>",
    b"<target>",
    b"msgid",
    b"msgstr",
    b"|",
    b"`",
    b"**",
    b"\xe2\x80\xa8",
]


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """Return the data with a few bytes removed, doubled, moved or replaced."""
    for _ in range(chance.randint(1, 4)):
        start, end = sorted(chance.choices(range(len(data) + 1), k=2))
        end = min(end, start + chance.choice((1, 5, 50)))
        new = chance.choice((b"", data[start:end] * 2, chance.choice(WORDS), chance.randbytes(2)))
        data = data[:start] + new + data[end:]
    return data


def read_and_write(path: Path) -> None:
    """Read a document, and write it as it was and with its own texts for translations."""
    data = path.read_bytes()
    try:
        document = open_document(path, target_language="ko")
        assert document.render({}) == data
        result = document.render({segment.number: segment.source for segment in document.segments})
    except DocumentError as error:
        assert error.place and error.remedy  # noqa: PT017, PT018
        return
    if document.kind in (
        "text",
        "html",
        "epub",
        "markdown",
        "notebook",
        "rst",
        "latex",
        "srt",
        "vtt",
        "ass",
        "yaml",
    ):
        return  # what else is spoilt may come to be other markup
    path.write_bytes(result)
    again = open_document(path, target_language="ko", source_language=document.source_language)
    assert [s.source.text for s in again.segments] == [s.source.text for s in document.segments]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_spoilt_document_raises_nothing_but_an_error_for_the_user(name: str, tmp_path: Path) -> None:
    for seed in range(TIMES):
        (tmp_path / name).write_bytes(spoilt(SAMPLES[name], random.Random(f"{name} {seed}")))
        read_and_write(tmp_path / name)


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("docx", "word/document.xml"),
        ("epub", "OEBPS/book.opf"),
        ("epub", "OEBPS/text/zwei.xhtml"),
        ("epub", "OEBPS/toc.ncx"),
        ("pptx", "ppt/slides/slide2.xml"),
        ("pptx", "ppt/presentation.xml"),
        ("pptx", "ppt/_rels/presentation.xml.rels"),
        ("xlsx", "xl/sharedStrings.xml"),
        ("xlsx", "xl/worksheets/sheet1.xml"),
        ("xlsx", "xl/worksheets/sheet2.xml"),
        ("xlsx", "xl/tables/table1.xml"),
        ("odt", "content.xml"),
        ("odp", "content.xml"),
        ("ods", "content.xml"),
    ],
)
def test_a_spoilt_part_of_an_archive_raises_nothing_else(kind: str, part: str, tmp_path: Path) -> None:
    members = parts(kind)
    for seed in range(2 * TIMES):
        changed = spoilt(members[part], random.Random(f"{part} {seed}"))
        (tmp_path / f"a.{kind}").write_bytes(packed({**members, part: changed}))
        read_and_write(tmp_path / f"a.{kind}")
