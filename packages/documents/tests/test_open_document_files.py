"""OpenDocument presentations and spreadsheets: slides and cells of text, everything else untouched."""

import io
import zipfile
from pathlib import Path

import pytest
from archive_samples import packed, parts

from multihead_documents import Document, open_document
from multihead_documents.errors import DocumentError


def opened(folder: Path, name: str, members: dict[str, bytes]) -> Document:
    (folder / name).write_bytes(packed(members))
    return open_document(folder / name)


def content(data: bytes) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read("content.xml").decode()


def test_texts_of_slides_are_segments(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.odp", parts("odp"))
    assert [str(segment.source) for segment in document.segments] == [
        "Fußzeile & mehr",
        "Bild",
        "Ein {1}neuer{/1} Titel",
        "Erster Punkt",
        "Darunter",
        "Im Pfeil",
        "Zelle",
        "Notiz zu {1/}",
        "Ende{1/}שלום",
    ]
    changed = content(document.render({0: "Footer <", 3: "First item"}))
    expected = content(packed(parts("odp"))).replace("Fußzeile &amp; mehr", "Footer &lt;")
    assert changed == expected.replace("Erster Punkt", "First item")


def test_cells_of_text_are_segments(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.ods", parts("ods"))
    assert [str(segment.source) for segment in document.segments] == [
        "Ein {1}roter{/1} Apfel",
        "Zweite Zeile",
        'Birne & "mehr"',
        "안녕하세요.",
        "Im Kasten",
        "Seite {1/} von {2/}",
    ]


def test_the_value_of_a_translated_cell_is_its_text(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.ods", parts("ods"))
    before, changed = content(packed(parts("ods"))), content(document.render({2: "pear"}))
    old = """office:string-value='Birne &amp;\n "mehr"' t:style-name="c1"><text:p>Birne &amp; "mehr"<"""
    assert old in before
    assert changed == before.replace(f" {old}", ' t:style-name="c1"><text:p>pear<')


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"another kind, \.ods.*a name that ends in \.ods"):
        opened(tmp_path, "a.odt", parts("ods"))
    without = {name: data for name, data in parts("odp").items() if name != "mimetype"}
    assert opened(tmp_path, "a.odp", without).segments


def test_odfpy_reads_what_is_written(tmp_path: Path) -> None:
    odf = pytest.importorskip("odf.opendocument")
    table, draw, text = (pytest.importorskip(f"odf.{name}") for name in ("table", "draw", "text"))
    extract = pytest.importorskip("odf.teletype").extractText
    slides = odf.OpenDocumentPresentation()
    for number in range(3):
        page = draw.Page(masterpagename="M", name=f"Seite {number}")
        frame, box = draw.Frame(width="1cm", height="1cm"), draw.TextBox()
        box.addElement(text.P(text=f"Folie {number} & <mehr>"))
        frame.addElement(box)
        page.addElement(frame)
        slides.presentation.addElement(page)
    slides.save(tmp_path / "a.odp")
    sheets = odf.OpenDocumentSpreadsheet()
    row = table.TableRow()
    for kind, value in (("string", "Apfel"), ("float", "5"), ("string", "Birne")):
        cell = table.TableCell(valuetype=kind, **{"stringvalue" if kind == "string" else "value": value})
        cell.addElement(text.P(text=value))
        row.addElement(cell)
    sheet = table.Table(name="Tabelle")
    sheet.addElement(row)
    sheets.spreadsheet.addElement(sheet)
    sheets.save(tmp_path / "a.ods")
    expected = {"a.odp": ["0 안녕 &", "1 안녕 &", "2 안녕 &"], "a.ods": ["0 안녕 &", "5", "1 안녕 &"]}
    for name, texts in expected.items():
        document = open_document(tmp_path / name)
        document.write({s.number: f"{s.number} 안녕 &" for s in document.segments}, tmp_path / f"b{name}")
        found = odf.load(str(tmp_path / f"b{name}"))
        assert [extract(paragraph) for paragraph in found.getElementsByType(text.P)] == texts
    cells = odf.load(str(tmp_path / "ba.ods")).getElementsByType(table.TableCell)
    assert [cell.getAttribute("value") for cell in cells] == [None, "5", None]
    assert [cell.getAttribute("stringvalue") for cell in cells] == [None] * 3
