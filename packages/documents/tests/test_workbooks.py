"""Excel workbooks: texts of cells and shapes, without what formulas and tables refer to."""

import io
import re
import time
import zipfile
from pathlib import Path

import pytest
from archive_samples import packed, parts

from multihead_documents import Document, Markup, carry, open_document
from multihead_documents.errors import DocumentError

BOOK = parts("xlsx")
STRINGS, SHEET, OTHER = "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"
RELATED = "xl/_rels/workbook.xml.rels"
SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def opened(folder: Path, members: dict[str, bytes]) -> Document:
    (folder / "a.xlsx").write_bytes(packed(members))
    return open_document(folder / "a.xlsx")


def cells(folder: Path, *strings: str) -> Document:
    """Open a workbook with these shared strings, each in a cell."""
    shown = "".join(f"<row><c t='s'><v>{number}</v></c></row>" for number in range(len(strings)))
    sheet = f"<worksheet xmlns='{SPACE}'><sheetData>{shown}</sheetData></worksheet>"
    table = f"<sst xmlns='{SPACE}'>{''.join(f'<si>{string}</si>' for string in strings)}</sst>"
    without = {name: data for name, data in BOOK.items() if "sheet1.xml.rels" not in name}
    return opened(folder, {**without, SHEET: sheet.encode(), STRINGS: table.encode(), OTHER: b"<x/>"})


def member(data: bytes, name: str) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(name).decode()


def sources(document: Document) -> list[str]:
    return [str(segment.source) for segment in document.segments]


def test_cells_of_text_are_segments(tmp_path: Path) -> None:
    document = opened(tmp_path, BOOK)
    assert sources(document) == [
        "Unsere Preise",
        "Ein {1}roter{/1} Apfel",
        "Erste & <zweite>{1/}Zeile{2/} _x0041_",
        "東京",
        "שלום עולם",
        "Seite {1/}",
        "Im Kasten",
        "In der Zelle",
    ]
    places = [segment.place.rpartition("a.xlsx:")[2] for segment in document.segments]
    assert places[:5] == [f"Preise & mehr!{name}" for name in ("A1", "A4", "C5")] + ["Zwei!AC2", places[4]]
    assert places[5] == "Preise & mehr, header or footer"
    assert places[7] == "Zwei!AB2"


def test_only_the_text_of_a_cell_changes(tmp_path: Path) -> None:
    document = opened(tmp_path, BOOK)
    line = Markup.of(
        "first", document.segments[2].source.tags[0], "_x0042_", document.segments[2].source.tags[1]
    )
    changed = document.render({0: "Our prices", 2: line, 3: "Tokyo", 7: "In <it>"})
    expected = BOOK[STRINGS].decode().replace("Unsere Preise", "Our prices")
    expected = re.sub("> Erste.*?</t>", "> first\nlinked_x000D_</t>", expected, flags=re.DOTALL)
    expected = expected.replace("linked", "_x005F_x0042_")
    expected = re.sub("<t>東京.*?</si>", "<t>Tokyo</t></si>", expected)
    assert member(changed, STRINGS) == expected
    assert member(changed, OTHER) == BOOK[OTHER].decode().replace("In der Zelle", "In &lt;it&gt;")
    assert member(changed, SHEET) == BOOK[SHEET].decode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<t>a</t>", "a"),
        ("<r><t>a</t></r><r><rPr></rPr><t>b</t></r>", "ab"),
        ("<r><rPr><b/></rPr><t>Wo</t></r><r><t>rtteil</t></r>", "{1}Wo{/1}rtteil"),
        ("<r><rPr><b/></rPr><t/></r><r><t>a</t></r>", "a"),
        ("<t><![CDATA[<a>\n]]>b</t>", "<a>{1/}b"),
        ("<t>a\n\nb\n</t>", "a{1/}{2/}b"),
        ("<t>_x0041__x005F_x0041_</t>", "A_x0041_"),
        ("<t>a_xD83D_</t>", "a{1/}"),
        ("<t>a &#13; b</t>", "a b"),
    ],
)
def test_the_text_of_a_cell_is_read_and_written(content: str, expected: str, tmp_path: Path) -> None:
    document = cells(tmp_path, content, "<t>end</t>")
    assert sources(document) == [expected, "end"]
    (tmp_path / "a.xlsx").write_bytes(document.render({0: document.segments[0].source}))
    assert sources(open_document(tmp_path / "a.xlsx")) == [expected, "end"]


def test_a_string_that_heads_a_table_is_kept_wherever_it_stands(tmp_path: Path) -> None:
    sheet = BOOK[SHEET].replace(b'<c r="A1" t="s"><v>0</v>', b'<c r="A1" t="s"><v>2</v>')
    assert sources(opened(tmp_path, {**BOOK, SHEET: sheet}))[0] == "Ein {1}roter{/1} Apfel"
    headless = BOOK["xl/tables/table1.xml"].replace(b'totalsRowCount="1"', b'headerRowCount="0"')
    found = sources(opened(tmp_path, {**BOOK, "xl/tables/table1.xml": headless}))
    assert found[1:4] == ["Obst", "Preis", "Ergebnis"]


def test_workbooks_without_shared_strings_or_text_are_read(tmp_path: Path) -> None:
    related = re.sub(rb"<Relationship [^>]*sharedStrings[^>]*>", b"", BOOK[RELATED])
    members = {name: data for name, data in BOOK.items() if name != STRINGS}
    assert sources(opened(tmp_path, {**members, RELATED: related})) == [
        "Seite {1/}",
        "Im Kasten",
        "In der Zelle",
    ]
    document = cells(tmp_path)
    assert document.segments == []
    assert document.render({}) == (tmp_path / "a.xlsx").read_bytes()


def test_strict_workbooks_are_read(tmp_path: Path) -> None:
    old = rb"http://schemas.openxmlformats.org/(officeDocument|spreadsheetml|drawingml)/2006"
    strict = {
        name: re.sub(old, rb"http://purl.oclc.org/ooxml/\1", data) if "Types" not in name else data
        for name, data in BOOK.items()
    }
    assert sources(opened(tmp_path, strict)) == sources(opened(tmp_path, BOOK))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"[Content_Types].xml": b"<Types/>"}, "no sheets of Excel's in it"),
        ({RELATED: b"<Relationships/>"}, "<sheet> refers to no part"),
        ({RELATED: BOOK[RELATED].replace(b"sharedStrings.xml", b"none.xml")}, "without xl/none.xml"),
        ({RELATED: BOOK[RELATED].replace(b'"worksheets/', b'"/../../')}, "without sheet1.xml"),
        ({SHEET: b'<!DOCTYPE x [<!ENTITY e "a">]><x>&e;</x>'}, r"sheet1.xml:1: declares an entity \(e\)"),
        ({STRINGS: BOOK[STRINGS][:-9]}, "sharedStrings.xml:4: not well-formed XML"),
        ({STRINGS: b" " * (2 << 20)}, "unpacks to more than 200 times"),
        (
            {STRINGS: BOOK[STRINGS].decode().replace("UTF-8", "UTF-16").encode("utf-16")},
            "not UTF-8. Save it again in Excel",
        ),
    ],
)
def test_a_hostile_workbook_is_refused(change: dict[str, bytes], message: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=message):
        opened(tmp_path, {**BOOK, **change})
    with pytest.raises(DocumentError, match="no sheets of Excel's in it"):
        opened(tmp_path, parts("pptx"))


def test_numbers_out_of_bounds_are_no_strings(tmp_path: Path) -> None:
    huge = "9" * 5000
    for value in (huge, "-1", "x", "", "1e3"):
        changed = BOOK[SHEET].replace(b"<v>0</v>", f"<v>{value}</v>".encode())
        changed = changed.replace(b'r="A2"', f'r="ZZZZ{huge}"'.encode()).replace(
            b'r="3"', f'r="{huge}"'.encode()
        )
        assert "Unsere Preise" not in sources(opened(tmp_path, {**BOOK, SHEET: changed}))
    table = BOOK["xl/tables/table1.xml"]
    for reference in (b"A1:XFD1048576", b"B5:A3", b"x", b"", b"A1:ZZZZ9"):
        changed = table.replace(b"A3:B5", reference)
        assert opened(tmp_path, {**BOOK, "xl/tables/table1.xml": changed}).segments


def test_openpyxl_reads_what_is_written(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    rich = pytest.importorskip("openpyxl.cell.rich_text")
    table = pytest.importorskip("openpyxl.worksheet.table").Table
    bold = pytest.importorskip("openpyxl.cell.text").InlineFont(b=True)
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Obst", "Preis"], ["Apfel", 5], ["Apfel", 1.5], ["=A2", "Zeile\nzwei"]):
        sheet.append(row)
    sheet["D1"] = rich.CellRichText("Ein ", rich.TextBlock(bold, "rotes"), " Blatt & mehr")
    sheet.add_table(table(displayName="T", ref="A1:B4"))
    book.create_sheet("Zwei")["A1"] = "שלום"
    book.save(tmp_path / "a.xlsx")
    ours = open_document(tmp_path / "a.xlsx")
    assert sources(ours) == ["Ein {1}rotes{/1} Blatt & mehr", "Apfel", "Apfel", "Zeile{1/}zwei", "שלום"]
    words = ["A red sheet & <more>", "apple", "apple", "line two", "안녕"]
    ours.write({n: carry(ours.segments[n].source, text) for n, text in enumerate(words)}, tmp_path / "b.xlsx")
    again = openpyxl.load_workbook(tmp_path / "b.xlsx", rich_text=True)
    found = [[cell.value for cell in row] for row in again.active.iter_rows(max_col=2)]
    assert found[:3] == [["Obst", "Preis"], ["apple", 5], ["apple", 1.5]]
    assert found[3][0] == "=A2"
    assert found[3][1].replace("\n", "") == "line two"
    assert str(again.active["D1"].value) == words[0]
    assert [block.font.b for block in again.active["D1"].value if not isinstance(block, str)] == [True]
    assert again["Zwei"]["A1"].value == words[4]


def test_ten_thousand_cells_take_time_in_proportion(tmp_path: Path) -> None:
    begun = time.process_time()
    document = cells(tmp_path, f"<t>{'lang ' * 6000}</t>", *(f"<t>Zelle {n}</t>" for n in range(10_000)))
    assert len(document.segments) == 10_001
    assert document.segments[0].max_length == 32_767
    document.render({segment.number: "a" for segment in document.segments})
    assert time.process_time() - begun < 20


def test_text_in_a_formula_is_named(tmp_path: Path) -> None:
    formulas = ('CONCATENATE("Ein Mann ",B2)', 'TEXT(A1,"dd.mm.yyyy")', 'IF(A1="ja",1,2)', '"Der "&amp;A1')
    row = "".join(f"<c t='str'><f>{formula}</f><v>x</v></c>" for formula in formulas)
    sheet = f"<worksheet xmlns='{SPACE}'><sheetData><row>{row}</row></sheetData></worksheet>"
    members = {name: data for name, data in BOOK.items() if "sheet1.xml.rels" not in name}
    document = opened(tmp_path, {**members, SHEET: sheet.encode()})
    ((place, note),) = document.notes
    assert place.endswith("!A1 and 1 more")
    assert note == "the text in the formula is not translated"
