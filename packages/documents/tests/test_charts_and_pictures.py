"""Texts of charts, and alternative texts of pictures and shapes, in office documents."""

import zipfile
from pathlib import Path

import pytest
from archive_samples import packed, parts

from multihead_documents import Document, carry, open_document

pptx = pytest.importorskip("pptx")
pptx_data = pytest.importorskip("pptx.chart.data")
pptx_enum = pytest.importorskip("pptx.enum.chart")
openpyxl = pytest.importorskip("openpyxl")

WORD = "word/document.xml"
RELATIONS = "word/_rels/document.xml.rels"
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CHART = (
    '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:title><c:tx><c:rich><a:p><a:r>'
    "<a:t>Umsatz</a:t></a:r></a:p></c:rich></c:tx></c:title><c:ser><c:tx><c:strRef><c:f>Sheet1!B1</c:f>"
    "<c:strCache>"
    "<c:pt><c:v>Nord &amp; Süd</c:v></c:pt></c:strCache></c:strRef></c:tx><c:val><c:numRef><c:numCache>"
    "<c:formatCode>General</c:formatCode><c:pt><c:v>12</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:chartSpace>"
)
DRAWN = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'


def sources(document: Document) -> list[str]:
    return [segment.source.text for segment in document.segments]


def in_capitals(document: Document) -> bytes:
    return document.render(
        {one.number: carry(one.source, one.source.text.upper()) for one in document.segments}
    )


def letter(path: Path, picture: str) -> Document:
    """Write a letter with a chart, and a picture with these attributes in its first paragraph."""
    members = parts("docx")
    relation = f'<Relationship Id="rC" Type="{KIND}/chart" Target="charts/chart1.xml"/></Relationships>'
    members[RELATIONS] = members[RELATIONS].replace(b"</Relationships>", relation.encode())
    members["word/charts/chart1.xml"] = CHART.encode()
    drawing = f"<w:drawing><wp:docPr {DRAWN} id='1' {picture}/></w:drawing>"
    picture = f"<w:p><w:r><w:t>Bild: </w:t></w:r><w:r>{drawing}</w:r></w:p>"
    members[WORD] = members[WORD].replace(b"<w:body>", b"<w:body>" + picture.encode())
    path.write_bytes(packed(members))
    return open_document(path)


def test_a_letter_has_texts_of_charts_and_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    document = letter(
        path, """name="descr='Ein'" descr="Zwei &lt;Hunde&gt; &quot;spielen&quot;" title='Am Strand'"""
    )
    assert sources(document)[:3] == ['Zwei <Hunde> "spielen"', "Am Strand", "Bild:"]
    assert [text for text in sources(document) if text in ("Umsatz", "Nord & Süd", "12")] == [
        "Umsatz",
        "Nord & Süd",
    ]
    assert document.render({}) == path.read_bytes()
    (tmp_path / "b.docx").write_bytes(in_capitals(document))
    again = [" ".join(text.split()) for text in sources(open_document(tmp_path / "b.docx"))]
    assert again == [" ".join(text.upper().split()) for text in sources(document)]
    with zipfile.ZipFile(tmp_path / "b.docx") as found:
        chart = found.read("word/charts/chart1.xml").decode()
        body = found.read(WORD).decode()
    assert chart == CHART.replace("Umsatz", "UMSATZ").replace("Nord &amp; Süd", "NORD &amp; SÜD")
    assert """name="descr='Ein'" descr="ZWEI &lt;HUNDE&gt; &quot;SPIELEN&quot;" title='AM STRAND'""" in body


def test_a_chart_in_a_letter_is_turned_as_drawings_are(tmp_path: Path) -> None:
    letter(tmp_path / "a.docx", "name='Bild'")
    document = open_document(tmp_path / "a.docx", source_language="de", target_language="ar")
    targets = {one.number: carry(one.source, "مرحبا") for one in document.segments}
    (tmp_path / "b.docx").write_bytes(document.render(targets))
    with zipfile.ZipFile(tmp_path / "b.docx") as found:
        chart = found.read("word/charts/chart1.xml").decode()
        body = found.read(WORD).decode()
    assert chart == CHART.replace("Umsatz", "مرحبا").replace("Nord &amp; Süd", "مرحبا")
    assert "<w:bidi/>" in body


@pytest.mark.parametrize(
    "picture",
    [
        'descr="C:\\Bilder\\Hund.png"',
        'descr="hund.jpeg"',
        'descr="a/b c.SVG"',
        'descr=""',
        'descr=" "',
        "name='Bild 1'",
    ],
)
def test_names_of_pictures_are_no_text(picture: str, tmp_path: Path) -> None:
    assert sources(letter(tmp_path / "a.docx", picture))[0] == "Bild:"


def test_a_presentation_has_texts_of_charts_and_pictures(tmp_path: Path) -> None:
    talk = pptx.Presentation()
    slide = talk.slides.add_slide(talk.slide_layouts[5])
    slide.shapes.title.text = "Titel"
    data = pptx_data.CategoryChartData()
    data.categories = ["Januar", "Februar"]
    data.add_series("Regen", (1.5, 2))
    frame = slide.shapes.add_chart(pptx_enum.XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 99, 99, data)
    frame.chart.has_title = True
    frame.chart.chart_title.text_frame.text = "Wetter"
    frame._element.nvGraphicFramePr.cNvPr.set("descr", "Säulen")
    talk.save(tmp_path / "a.pptx")
    document = open_document(tmp_path / "a.pptx")
    assert sources(document) == ["Titel", "Säulen", "Wetter", "Regen", "Januar", "Februar"]
    (tmp_path / "b.pptx").write_bytes(in_capitals(document))
    frame = pptx.Presentation(tmp_path / "b.pptx").slides[0].shapes[1]
    assert frame._element.nvGraphicFramePr.cNvPr.get("descr") == "SÄULEN"
    assert frame.chart.chart_title.text_frame.text == "WETTER"
    assert list(frame.chart.plots[0].categories) == ["JANUAR", "FEBRUAR"]
    assert [(one.name, one.values) for one in frame.chart.plots[0].series] == [("REGEN", (1.5, 2.0))]


def test_a_workbook_s_charts_show_its_cells(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (("Monat", "Regen"), ("Januar", 1), ("Februar", 2)):
        sheet.append(row)
    chart = openpyxl.chart.BarChart()
    chart.title = "Wetter"
    chart.add_data(openpyxl.chart.Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "D1")
    book.save(tmp_path / "a.xlsx")
    document = open_document(tmp_path / "a.xlsx")
    assert sources(document) == ["Monat", "Regen", "Januar", "Februar", "Wetter"]
    (tmp_path / "b.xlsx").write_bytes(in_capitals(document))
    sheet = openpyxl.load_workbook(tmp_path / "b.xlsx").active
    assert sheet["A2"].value == "JANUAR"
    assert sheet._charts[0].title.tx.rich.p[0].r[0].t == "WETTER"


def test_open_document_has_alternative_texts(tmp_path: Path) -> None:
    members = parts("odt")
    svg = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    frame = (
        '<text:p>Bild: <draw:frame xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0">'
        f"<svg:title {svg}>Am Strand</svg:title><svg:desc {svg}>Zwei Hunde</svg:desc></draw:frame></text:p>"
    )
    members["content.xml"] = members["content.xml"].replace(
        b"</office:text>", frame.encode() + b"</office:text>"
    )
    (tmp_path / "a.odt").write_bytes(packed(members))
    document = open_document(tmp_path / "a.odt")
    at = sources(document).index("Am Strand")
    assert sources(document)[at : at + 3] == ["Am Strand", "Zwei Hunde", "Bild:"]
    (tmp_path / "b.odt").write_bytes(in_capitals(document))
    assert sources(open_document(tmp_path / "b.odt"))[at : at + 3] == ["AM STRAND", "ZWEI HUNDE", "BILD:"]
