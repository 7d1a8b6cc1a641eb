"""Comments at the places to review, read back by libraries that share no code with ours."""

import io
import zipfile
from pathlib import Path

import pytest
from archive_samples import packed, parts
from document_samples import samples

from multihead_documents import Document, DocumentError, Translation, carry, format_of, open_document

SAMPLES = samples()
SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
REASON = 'low confidence & <a> "b"\nsecond reason'


def translate_with_comments(path: Path, *texts: str, **options: str) -> Path:
    """Translate a document by itself, with a comment on the segments that hold these texts."""
    document = open_document(path, **options)
    out = path.with_name(f"out-{path.name}")
    document.write(translations(document, *texts), out)
    return out


def translations(document: Document, *texts: str) -> dict[int, Translation]:
    return {
        segment.number: Translation(
            carry(segment.source, segment.source.text),
            review=True,
            comment=REASON if any(text in segment.source.text for text in texts) else "",
        )
        for segment in document.segments
    }


def member(path: Path, name: str) -> bytes:
    return zipfile.ZipFile(path).read(name)


def word_document(folder: Path) -> Path:
    """Make a document with a comment, a table and a header in python-docx."""
    docx = pytest.importorskip("docx")
    document = docx.Document()
    first = document.add_paragraph("First.")
    document.add_paragraph("Second ").add_run("bold").bold = True
    document.add_table(1, 1).cell(0, 0).text = "In a cell"
    document.sections[0].header.paragraphs[0].text = "On every page"
    document.add_comment(first.runs, text="Mine", author="Ada", initials="A")
    document.save(folder / "a.docx")
    return folder / "a.docx"


def test_python_docx_reads_the_comments(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    out = translate_with_comments(word_document(tmp_path), "Second", "In a cell", "every page")
    document = docx.Document(out)
    comments = [(comment.author, comment.text) for comment in document.comments]
    assert comments == [
        ("Ada", "Mine"),
        ("multihead", REASON),
        ("multihead", REASON),
        ("multihead", f"word/header1.xml, paragraph 1: {REASON}"),
    ]
    ids = [comment.comment_id for comment in document.comments]
    assert len({*ids}) == len(ids)
    second = next(p for p in document.paragraphs if p.text.startswith("Second"))
    cell = document.tables[0].cell(0, 0).paragraphs[0]
    for id, paragraph in ((ids[1], second), (ids[2], cell), (ids[3], document.paragraphs[0])):
        xml = paragraph._p.xml
        order = [f'comment{mark} w:id="{id}"' for mark in ("RangeStart", "RangeEnd", "Reference")]
        places = [xml.index(f"<w:{mark}") for mark in order]
        assert places[0] < xml.index("<w:t") < places[1] < places[2]


def test_a_document_without_comments_gets_a_part_for_them(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_paragraph("Only this.")
    document.save(tmp_path / "a.docx")
    out = translate_with_comments(tmp_path / "a.docx", "Only")
    assert [comment.text for comment in docx.Document(out).comments] == [REASON]


def test_a_text_box_is_commented_at_its_paragraph(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(packed(parts("docx")))
    out = translate_with_comments(tmp_path / "a.docx", "Im Kasten", "Titel")
    etree = pytest.importorskip("lxml.etree")
    w = f"{{{SPACE}}}"
    root = etree.fromstring(member(out, "word/document.xml"))
    ends = {mark.get(f"{w}id"): mark.getparent() for mark in root.iter(f"{w}commentRangeStart")}
    assert ["".join(p.itertext())[:8] for p in ends.values()] == ["Ein Tite", "Vor Im K"]
    assert all(p.getparent().tag == f"{w}body" for p in ends.values())
    first = ends["0"]
    assert [child.tag for child in first][:2] == [f"{w}pPr", f"{w}commentRangeStart"]


def test_openpyxl_reads_the_notes(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    comment = pytest.importorskip("openpyxl.comments").Comment
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"], sheet["B2"], sheet["C3"], sheet["C4"] = "Apple", "Pear", "Plum", 5
    sheet["C3"].comment = comment("Mine", "Ada")
    sheet["C4"].comment = comment("A number", "Ada")
    other = book.create_sheet("Other")
    other["AB7"] = "Cherry"
    other.oddHeader.center.text = "Every page"
    other.add_table(pytest.importorskip("openpyxl.worksheet.table").Table(displayName="T", ref="D1:D2"))
    other["D1"] = "Head"
    book.save(tmp_path / "a.xlsx")
    out = translate_with_comments(tmp_path / "a.xlsx", "Pear", "Plum", "Cherry", "Every page")
    book = openpyxl.load_workbook(out)
    sheet, other = book.worksheets
    notes = {cell.coordinate: cell.comment for row in sheet for cell in row if cell.comment}
    assert {cell: note.text for cell, note in notes.items()} == {
        "A1": f"Other, header or footer: {REASON}",
        "B2": REASON,
        "C3": f"Mine\nmultihead: {REASON}",
        "C4": "A number",
    }
    assert [notes[cell].author for cell in ("A1", "B2", "C3", "C4")] == ["multihead"] * 2 + ["Ada"] * 2
    assert other["AB7"].comment.text == REASON
    assert other["A1"].comment is None


def test_each_new_note_has_a_shape_at_its_cell(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    etree = pytest.importorskip("lxml.etree")
    comment = pytest.importorskip("openpyxl.comments").Comment
    book = openpyxl.Workbook()
    book.active["A1"], book.active["C5"] = "Apple", "Pear"
    book.active["A1"].comment = comment("Mine", "Ada")
    book.create_sheet("Two")["B1"] = "Plum"
    book.save(tmp_path / "a.xlsx")
    out = translate_with_comments(tmp_path / "a.xlsx", "Apple", "Pear", "Plum")
    drawings = [name for name in zipfile.ZipFile(out).namelist() if name.endswith(".vml")]
    x, v = "{urn:schemas-microsoft-com:office:excel}", "{urn:schemas-microsoft-com:vml}"
    cells = []
    for name in drawings:
        root = etree.fromstring(member(out, name))
        shapes = list(root.iter(f"{v}shape"))
        assert len({shape.get("id") for shape in shapes}) == len(shapes)
        assert root.find(f"{v}shapetype").get("id") == "_x0000_t202"
        cells += [(s.findtext(f".//{x}Row"), s.findtext(f".//{x}Column")) for s in shapes]
    assert sorted(cells) == [("0", "0"), ("0", "1"), ("4", "2")]
    for number in (1, 2):
        sheet = etree.fromstring(member(out, f"xl/worksheets/sheet{number}.xml"))
        names = [etree.QName(child).localname for child in sheet]
        assert names.count("legacyDrawing") == 1
        assert names.index("legacyDrawing") > names.index("sheetData")


@pytest.mark.parametrize("name", [name for name in SAMPLES if format_of(name).comments])
def test_without_comments_the_bytes_are_those_of_before(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(SAMPLES[name])
    document = open_document(tmp_path / name, target_language="ko" if name.endswith("f") else None)
    plain = document.render(translations(document))
    marked = document.render(translations(document, ""))
    assert document.render({}) == SAMPLES[name]
    assert plain != marked
    assert document.render(translations(document)) == plain
    (tmp_path / "out").with_suffix(Path(name).suffix).write_bytes(marked)
    again = open_document((tmp_path / "out").with_suffix(Path(name).suffix))
    assert len(again.segments) == len(document.segments)


def test_polib_reads_the_comments_of_a_catalogue_written_twice(tmp_path: Path) -> None:
    polib = pytest.importorskip("polib")
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    cat = '# Ada\n#. code\n#: a.c:1\n#, c-format\n#| msgid "cat"\nmsgid "Cat"\nmsgstr ""\n\n'
    (tmp_path / "a.po").write_text(f'{header}{cat}msgid "Dog"\nmsgstr ""\n')
    once = translate_with_comments(tmp_path / "a.po", "Cat", "Dog")
    twice = translate_with_comments(once, "Cat")
    first, second = polib.pofile(str(once)), polib.pofile(str(twice))
    expected = "\n".join(f"multihead: {line}" for line in REASON.split("\n"))
    assert [entry.tcomment for entry in first] == [f"Ada\n{expected}", expected]
    assert [entry.tcomment for entry in second] == [f"Ada\n{expected}", ""]
    assert all(entry.fuzzy for entry in first)
    assert "multihead" not in translate_with_comments(twice).read_text()


@pytest.mark.parametrize(("name", "mark"), [("one.xlf", "from"), ("two.xlf", "category")])
def test_a_unit_of_xliff_has_one_note_of_ours(name: str, mark: str, tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    (tmp_path / name).write_bytes(SAMPLES[name])
    first = open_document(tmp_path / name).segments[0].source.text
    once = translate_with_comments(tmp_path / name, first, target_language="ko")
    twice = translate_with_comments(once, first)
    for path in (once, twice):
        notes = list(etree.parse(path).getroot().iter("{*}note"))
        assert [note.text for note in notes if note.get(mark) == "multihead"] == [REASON]
        assert len(notes) == 2
        unit = next(parent for parent in notes[0].iterancestors() if parent.tag.endswith("unit"))
        assert unit.get("id") == "1"
    assert "second reason" not in translate_with_comments(twice).read_text()


def test_translate_toolkit_reads_the_note(tmp_path: Path) -> None:
    toolkit = pytest.importorskip("translate.storage.xliff").xlifffile
    (tmp_path / "one.xlf").write_bytes(SAMPLES["one.xlf"])
    out = translate_with_comments(tmp_path / "one.xlf", "Zwei", target_language="ko")
    units = toolkit.parsestring(out.read_bytes()).units
    assert units[1].getnotes(origin="multihead").split() == REASON.split()
    assert units[0].getnotes(origin="multihead") == ""


def test_a_unit_of_xliff_2_without_notes_gets_them_before_its_segments(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    unit = '<unit id="1">\n <segment><source>Cat</source></segment></unit>'
    start = '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">'
    (tmp_path / "a.xlf").write_text(f'{start}<file id="f">{unit}</file></xliff>')
    out = translate_with_comments(tmp_path / "a.xlf", "Cat")
    children = list(next(etree.parse(out).getroot().iter("{*}unit")))
    assert [etree.QName(child).localname for child in children] == ["notes", "segment"]
    assert "notes" not in translate_with_comments(out).read_text()


def test_a_comment_does_not_tell_where_the_document_lies(tmp_path: Path) -> None:
    for kind in ("docx", "xlsx"):
        (tmp_path / f"a.{kind}").write_bytes(packed(parts(kind)))
        out = translate_with_comments(tmp_path / f"a.{kind}", "")
        archive = zipfile.ZipFile(io.BytesIO(out.read_bytes()))
        assert archive.testzip() is None
        assert not any(str(tmp_path).encode() in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize(
    ("comments", "fact"),
    [(b"<x/>", "no <comments>"), (f"<w:comments xmlns:w='{SPACE}'/>".encode("utf-16"), "not UTF-8")],
)
def test_a_part_that_cannot_be_extended_is_named(comments: bytes, fact: str, tmp_path: Path) -> None:
    path = word_document(tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path.write_bytes(packed({**members, "word/comments.xml": comments}))
    with pytest.raises(DocumentError, match=fact):
        translate_with_comments(path, "Second")


def test_a_strict_document_gets_strict_comments(tmp_path: Path) -> None:
    strict, office = "http://purl.oclc.org/ooxml/wordprocessingml/main", "officeDocument/relationships"
    members = {name: data.replace(SPACE.encode(), strict.encode()) for name, data in parts("docx").items()}
    (tmp_path / "a.docx").write_bytes(packed(members))
    out = translate_with_comments(tmp_path / "a.docx", "Titel")
    assert f'xmlns:w="{strict}"'.encode() in member(out, "word/comments1.xml")
    related = member(out, "word/_rels/document.xml.rels").decode()
    assert f'Type="http://purl.oclc.org/ooxml/{office}/comments" Target="/word/comments1.xml"' in related
