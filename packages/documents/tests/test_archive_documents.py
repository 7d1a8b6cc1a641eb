"""Word documents and OpenDocument texts: paragraphs with their markup, all other parts untouched."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from archive_samples import packed, parts

from multihead_documents import Document, Markup, carry, open_document
from multihead_documents.errors import DocumentError

WORD, ODT = parts("docx"), parts("odt")
PARTS = {
    "a.docx": ("word/document.xml", "</w:p>"),
    "a.pptx": ("ppt/slides/slide2.xml", "</a:p>"),
    "a.xlsx": ("xl/sharedStrings.xml", "</si>"),
    "a.epub": ("OEBPS/book.opf", "</dc:title>"),
    "a.odt": ("content.xml", "</text:h>"),
    "a.odp": ("content.xml", "-decl>"),
    "a.ods": ("content.xml", "</text:span>"),
}
"""The part of the first segment, and what ends it there."""


def opened(folder: Path, name: str, members: dict[str, bytes]) -> Document:
    (folder / name).write_bytes(packed(members))
    return open_document(folder / name)


def word(folder: Path, *paragraphs: str) -> Document:
    """Open a Word document of these paragraphs' content."""
    head, rest = WORD["word/document.xml"].decode().split("<w:body>")
    body = "".join(f"<w:p>{paragraph}</w:p>" for paragraph in paragraphs)
    tail = rest.split("<w:sectPr/>")[1]
    return opened(folder, "a.docx", {**WORD, "word/document.xml": f"{head}<w:body>{body}{tail}".encode()})


def run(text: str, properties: str = "") -> str:
    look = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{look}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def member(data: bytes, name: str) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(name).decode()


@pytest.mark.parametrize("prefix", ["", "wp:", "p:"])
def test_any_prefix_of_the_namespace_is_kept(prefix: str, tmp_path: Path) -> None:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    head = f"<w:document xmlns{':' * bool(prefix)}{prefix[:-1]}='{space}'><w:body><w:p a='b:c'><w:r><w:t>"
    text = f"{head}Hund</w:t></w:r></w:p></w:body></w:document>".replace("w:", prefix)
    document = opened(tmp_path, "a.docx", {**WORD, "word/document.xml": text.encode()})
    changed = member(document.render({0: "dog"}), "word/document.xml")
    assert changed.replace(' xml:space="preserve"', "") == text.replace("Hund", "dog")


def test_paragraphs_of_word_are_segments(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.docx", WORD)
    assert [str(segment.source) for segment in document.segments] == [
        "Ein Titel",
        "Ein {1}fettes{/1} Wort, ein {2}Verweis{/2}{3/} und Seite {4/}.",
        'Zelle & <b> "x"{1/}zweite Zeile',
        "{1}neu {/1}{2/}{3}Feld{/3} bis\xa0E\u2011Mail",
        "{1}hier{/1} klicken",
        "Im Kasten",
        "Vor {1/}und nach",
        "שלום עולם",
        "안녕하세요, 여러분.",
        "Eine Fußnote.",
        "Kopf",
    ]
    assert document.segments[9].place.endswith("a.docx:word/footnotes.xml, paragraph 1")


def test_paragraphs_of_open_document_are_segments(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.odt", ODT)
    assert [str(segment.source) for segment in document.segments] == [
        "Ein Titel",
        "Eine {1}Fußnote{/1}.",
        "Ein {1}fettes {2}Wort{/2}{/1}, ein {3}Verweis{/3}{4/} & <mehr> ä.",
        "Alles fett",
        "Zeile{1/}zwei{2/}drei",
        "Zelle",
        "Im Kasten",
        "שלום {1}עולם{/1}",
        "안녕하세요, 여러분.",
        "Seite {1/} von {2/}",
    ]


@pytest.mark.parametrize("name", PARTS)
def test_untouched_members_stay_with_their_order_time_and_packing(name: str, tmp_path: Path) -> None:
    members = parts(name.partition(".")[2])
    document = opened(tmp_path, name, members)
    changed = document.render({0: carry(document.segments[0].source, "Titel")})
    part, end = PARTS[name]
    before, after = (zipfile.ZipFile(io.BytesIO(data)) for data in (packed(members), changed))
    assert before.comment == after.comment
    for old, new in zip(before.infolist(), after.infolist(), strict=True):
        assert (old.filename, old.date_time, old.compress_type) == (
            new.filename,
            new.date_time,
            new.compress_type,
        )
        assert (old.external_attr, old.create_system, old.extra) == (
            new.external_attr,
            new.create_system,
            new.extra,
        )
        if old.filename != part:
            assert before.read(old) == after.read(new)
    original, text = member(packed(members), part), member(changed, part)
    assert text.partition(end)[2].removeprefix(" Apfel") == original.partition(end)[2].removeprefix(" Apfel")


def test_runs_are_merged_where_nobody_sees_a_difference(tmp_path: Path) -> None:
    runs = run("a ") + run("b", '<w:lang w:val="de"/>') + run(" c", "<w:b/>")
    document = word(tmp_path, f"<w:pPr><w:jc/></w:pPr>{runs}")
    assert str(document.segments[0].source) == "a b{1} c{/1}"
    tags = document.segments[0].source.tags
    changed = document.render({0: Markup.of(tags[0], "x &", tags[1], "\nz")})
    expected = f"<w:p><w:pPr><w:jc/></w:pPr>{run('x &amp;', '<w:b/>')}{run(' z')}</w:p>"
    assert expected in member(changed, "word/document.xml")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # a paragraph that is bold altogether has no tags
        (run("a", "<w:b/>") + run("b", "<w:b/>"), "ab"),
        # white space has no look
        (run("a") + run(" ", "<w:b/>") + run("b"), "a b"),
        (run("a", "<w:b/>") + run(" ") + run("b", "<w:b/>") + run("cdefg"), "{1}a b{/1}cdefg"),
        ("<w:r><w:t> a  </w:t></w:r><w:r><w:t>b</w:t></w:r>", "a b"),
        # a field in a field
        (
            run("a")
            + field("begin")
            + field("begin")
            + field("end")
            + field("separate")
            + run("x")
            + field("end"),
            "a{1/}",
        ),
        # a field that ends in another paragraph, and one that began in another
        (field("begin") + run("a"), "{1/}a"),
        (run("a") + field("separate") + run("b") + field("end"), "a{1/}b{2/}"),
        # a field that begins outside of a link and ends in it
        (f"{field('begin')}<w:hyperlink>{field('end')}{run('a')}</w:hyperlink>", "{1/}{2}{3/}a{/2}"),
        (f"<w:sdt><w:sdtPr/></w:sdt>{run('a')}", "{1/}a"),
        (f"<w:sdt><w:sdtContent><w:sdt><w:sdtContent>{run('a')}{'</w:sdtContent></w:sdt>' * 2}", "a"),
        ("<w:r><w:rPr></w:rPr><w:t>a</w:t></w:r><w:r><w:rPr/><w:t>b</w:t></w:r>", "ab"),
        (f"{run('a')}<m:oMath xmlns:m='m'><m:r><m:t>x</m:t></m:r></m:oMath>{run('b')}", "a{1/}b"),
    ],
)
def test_the_text_of_a_paragraph_is_found_in_its_runs(content: str, expected: str, tmp_path: Path) -> None:
    document = word(tmp_path, content)
    assert str(document.segments[0].source) == expected
    (tmp_path / "b.docx").write_bytes(document.render({0: document.segments[0].source}))
    assert str(open_document(tmp_path / "b.docx").segments[0].source) == expected


def test_text_boxes_and_the_text_around_them_are_translated_together(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.docx", WORD)
    around = Markup.of("Before ", *document.segments[6].source.tags, "and after")
    text = member(document.render({5: "In the box", 6: around}), "word/document.xml")
    before, _, after = text.partition("<v:textbox>")
    assert before.count("Before ") == 1
    assert re.sub("<[^>]*>", "", after).startswith("In the boxand after")
    notes = opened(tmp_path, "a.odt", ODT)
    targets = {
        1: carry(notes.segments[1].source, "A note."),
        2: carry(notes.segments[2].source, "A word, a link."),
    }
    assert re.sub("<[^>]*>", "", member(notes.render(targets), "content.xml")).count("1A note.") == 1


def test_python_docx_reads_what_is_written(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Überschrift", 1)
    paragraph = document.add_paragraph("Ein ")
    paragraph.add_run("fettes").bold = True
    paragraph.add_run(" Wort & <mehr>.")
    document.add_table(1, 2).cell(0, 1).text = "Zelle"
    document.sections[0].header.paragraphs[0].text = "Kopf"
    document.save(str(tmp_path / "a.docx"))
    ours = open_document(tmp_path / "a.docx")
    assert [str(s.source) for s in ours.segments] == [
        "Überschrift",
        "Ein {1}fettes{/1} Wort & <mehr>.",
        "Zelle",
        "Kopf",
    ]
    words = ["제목", "A bold & <word>.", "שלום", "Head"]
    ours.write({n: carry(ours.segments[n].source, text) for n, text in enumerate(words)}, tmp_path / "b.docx")
    again = docx.Document(str(tmp_path / "b.docx"))
    assert [p.text for p in again.paragraphs] == words[:2]
    assert [run.bold for run in again.paragraphs[1].runs] == [None, True, None]
    assert again.tables[0].cell(0, 1).text == words[2]
    assert again.sections[0].header.paragraphs[0].text == words[3]
    assert again.paragraphs[0].style.name == "Heading 1"


def test_odfpy_reads_what_is_written(tmp_path: Path) -> None:
    load: Callable[[str], Any] = pytest.importorskip("odf.opendocument").load
    extract = pytest.importorskip("odf.teletype").extractText
    document = opened(tmp_path, "a.odt", ODT)
    words = [f"{s.number} Wörter & <mehr> 안녕" for s in document.segments]
    targets = {s.number: carry(s.source, text) for s, text in zip(document.segments, words, strict=True)}
    document.write(targets, tmp_path / "b.odt")
    text = pytest.importorskip("odf.text")
    found = load(str(tmp_path / "b.odt"))
    shown = [extract(e) for kind in (text.P, text.H) for e in found.getElementsByType(kind)]
    for number, words_ in enumerate(words[:9]):
        assert any(" ".join(shown_.split()).startswith(str(number)) for shown_ in shown), words_
    assert sum("Wörter" in s for s in shown) >= 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"word/document.xml": b"\0" * (2 << 20)},
            "'word/document.xml' unpacks to more than 200 times its size",
        ),
        (
            {"word/media/zeros.bin": b"\0" * (2 << 20)},
            "'word/media/zeros.bin' unpacks to more than 200 times",
        ),
        ({"[Content_Types].xml": b"<Types/>"}, "no text of Word's in it"),
        ({"[Content_Types].xml": b"<Types"}, r"a.docx:\[Content_Types\].xml:1: not well-formed XML"),
        (
            {"word/document.xml": b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'},
            r"a.docx:word/document.xml:1: declares an entity \(e\)",
        ),
        ({"word/document.xml": WORD["word/document.xml"].replace(b"UTF-8", b"UTF-16")}, "word/document.xml"),
    ],
)
def test_a_hostile_word_document_is_refused(change: dict[str, bytes], message: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=message):
        opened(tmp_path, "a.docx", {**WORD, **change})


def test_a_hostile_archive_is_refused(tmp_path: Path) -> None:
    good = packed(WORD)
    entry = good.index(b"PK\x01\x02")
    spoilt = {
        "damaged": good[: len(good) // 2],
        "not a zip archive": b"hello",
        r"save it as \.docx": b"\xd0\xcf\x11\xe0" + good,
        "encrypted": good[: entry + 8] + b"\x01" + good[entry + 9 :],
        "packed in an unusual way": good[: entry + 10] + b"\x0c" + good[entry + 11 :],
        r"without \[Content_Types\]": packed({"a": b"b"}),
        r"'word/document\.xml' is damaged": _with_other_crc(good, b"word/document.xml"),
        r"'word/media/a\.png' is damaged": _with_other_crc(
            packed({**WORD, "word/media/a.png": b"a"}), b"word/media/a.png"
        ),
        "two files of one name": good.replace(b"word/footnotes.xml", b"word/_ocument2.xml")
        .replace(b"word/document.xml", b"word/header1.xmlx")
        .replace(b"word/header1.xmlx", b"word/header1.xml\0"),
        "files overlap": good[: entry + 20] + b"\xff\xff\xff\0" + good[entry + 24 :],
    }
    for message, data in spoilt.items():
        (tmp_path / "a.docx").write_bytes(data)
        with pytest.raises(DocumentError, match=message):
            open_document(tmp_path / "a.docx")
    locked = {**ODT, "META-INF/manifest.xml": b"<a><manifest:encryption-data/></a>"}
    with pytest.raises(DocumentError, match="encrypted"):
        opened(tmp_path, "a.odt", locked)


def _with_other_crc(data: bytes, name: bytes) -> bytes:
    start = data.rindex(b"PK\x01\x02", 0, data.rindex(name)) + 16
    return data[:start] + bytes([data[start] ^ 1]) + data[start + 1 :]


def test_an_archive_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    data = packed(WORD)
    start = data.rindex(b"PK\x01\x02", 0, data.rindex(b"word/document.xml"))
    (tmp_path / "a.docx").write_bytes(data[: start + 24] + b"\x10\0\0\0" + data[start + 28 :])
    with pytest.raises(DocumentError, match=r"'word/document\.xml' is damaged"):
        open_document(tmp_path / "a.docx")


def test_paragraphs_10000_deep_are_refused_or_read(tmp_path: Path) -> None:
    box = "<w:r><w:pict><w:p>"
    with pytest.raises(DocumentError, match="more than 30 paragraphs inside one another"):
        word(tmp_path, box * 10_000 + "</w:p></w:pict></w:r>" * 10_000)
    deep = "<w:hyperlink>" * 10_000 + "<w:r><w:t>a</w:t></w:r>" + "</w:hyperlink>" * 10_000
    document = word(tmp_path, deep)
    assert [str(segment.source) for segment in document.segments[:1]] == ["a"]
    assert '<w:t xml:space="preserve">b</w:t>' in member(document.render({0: "b"}), "word/document.xml")


def test_links_to_other_places_are_neither_opened_nor_changed(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.docx", WORD)
    changed = document.render({n: s.source for n, s in enumerate(document.segments)})
    name = "word/_rels/document.xml.rels"
    assert member(changed, name) == WORD[name].decode()
    assert member(changed, "word/document.xml").count('r:id="rId9"') == 1
