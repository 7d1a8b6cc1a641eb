"""Office documents and e-books are turned where a translation is written in the other direction."""

import io
import re
import time
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from document_samples import samples
from hypothesis import given
from hypothesis import strategies as st

from multihead_documents import carry, open_document
from multihead_documents.office import word_direction
from multihead_documents.office.direction import turn

docx = pytest.importorskip("docx")
pptx = pytest.importorskip("pptx")
openpyxl = pytest.importorskip("openpyxl")

ARABIC = "مرحبا"
DEFAULT = '<style:default-style style:family="paragraph">'
W = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">%s</w:document>'


def translated(path: Path, languages: str, translate: Callable[[str], str]) -> bytes:
    source, target = languages.split()
    document = open_document(path, source_language=source, target_language=target)
    found = {one.number: carry(one.source, translate(one.source.text)) for one in document.segments}
    return document.render({number: one for number, one in found.items() if one.text})


def letter(path: Path, *, arabic: bool = False) -> Path:
    """Write a letter by python-docx."""
    document = docx.Document()
    first = document.add_paragraph(ARABIC if arabic else "Guten Tag")
    first.paragraph_format.alignment = docx.enum.text.WD_ALIGN_PARAGRAPH.LEFT
    if arabic:
        first.runs[0].font.rtl = True
        first._p.get_or_add_pPr().append(docx.oxml.OxmlElement("w:bidi"))
    document.add_paragraph("print(1)")
    document.add_table(1, 2).cell(0, 0).text = ARABIC if arabic else "Preis"
    document.save(path)
    return path


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ("", "<w:pPr><w:bidi/></w:pPr>"),
        ("<w:pPr/>", "<w:pPr><w:bidi/></w:pPr>"),
        ("<w:pPr></w:pPr>", "<w:pPr><w:bidi/></w:pPr>"),
        (
            '<w:pPr><w:pStyle w:val="a"/><w:jc w:val="left"/></w:pPr>',
            '<w:pPr><w:pStyle w:val="a"/><w:bidi/><w:jc w:val="left"/></w:pPr>',
        ),
        (
            '<w:pPr><w:bidi w:val="0"/><w:rPr><w:b/></w:rPr></w:pPr>',
            "<w:pPr><w:bidi/><w:rPr><w:b/></w:rPr></w:pPr>",
        ),
        (
            '<w:pPr><w:pPrChange><w:pPr><w:ind w:left="1"/></w:pPr></w:pPrChange></w:pPr>',
            '<w:pPr><w:bidi/><w:pPrChange><w:pPr><w:ind w:left="1"/></w:pPr></w:pPrChange></w:pPr>',
        ),
    ],
)
def test_a_paragraph_says_its_direction_where_the_schema_wants_it(properties: str, expected: str) -> None:
    old = (
        W
        % f'<w:p w:id="1">{properties}<w:r><w:t>{ARABIC}</w:t></w:r></w:p><w:p><w:r><w:t>ab</w:t></w:r></w:p>'
    )
    new = (
        W % f'<w:p w:id="1">{expected}<w:r><w:t>{ARABIC}</w:t></w:r></w:p><w:p><w:r><w:t>ab</w:t></w:r></w:p>'
    )
    assert word_direction.turn(old.encode(), True).decode() == new
    assert word_direction.turn(new.encode(), True).decode() == new


@pytest.mark.parametrize(
    ("properties", "text", "expected"),
    [
        ("", ARABIC, "<w:rPr><w:rtl/></w:rPr>"),
        ("<w:rPr/>", ARABIC, "<w:rPr><w:rtl/></w:rPr>"),
        ("<w:rPr><w:b/><w:lang/></w:rPr>", "שלום", "<w:rPr><w:b/><w:rtl/><w:lang/></w:rPr>"),
        ("<w:rPr><w:rtl/></w:rPr>", ARABIC, "<w:rPr><w:rtl/></w:rPr>"),
        ("<w:rPr><w:b/><w:rtl/></w:rPr>", "ab", '<w:rPr><w:b/><w:rtl w:val="0"/></w:rPr>'),
        ("<w:rPr><w:b/></w:rPr>", "ab", "<w:rPr><w:b/></w:rPr>"),
        ("<w:rPr><w:rtl/></w:rPr>", "1 &amp; 2.", "<w:rPr><w:rtl/></w:rPr>"),
        ("", "ab", ""),
    ],
)
def test_a_run_says_the_direction_of_its_text(properties: str, text: str, expected: str) -> None:
    assert word_direction.direct(properties.encode(), text.encode(), b"w:").decode() == expected


@given(st.text(st.characters(min_codepoint=0x20), max_size=3))
def test_letters_are_those_that_unicode_writes_from_right_to_left(text: str) -> None:
    strong = {unicodedata.bidirectional(letter) for letter in text}
    found = bool(word_direction.direct(b"", text.encode("utf-8", "replace"), b"w:"))
    if strong & {"R", "AL"} - {""}:
        assert found
    if not any("\u0590" <= letter <= "\U0001efff" for letter in text):
        assert not found


def test_word_is_turned_and_turned_back(tmp_path: Path) -> None:
    path = letter(tmp_path / "letter.docx")
    path.write_bytes(translated(path, "de ar", lambda text: "" if "print" in text else ARABIC))
    document = docx.Document(path)
    first, code = document.paragraphs
    assert first._p.pPr.find(docx.oxml.ns.qn("w:bidi")) is not None
    assert first.runs[0].font.rtl is True
    assert code._p.pPr is None or code._p.pPr.find(docx.oxml.ns.qn("w:bidi")) is None
    assert document.tables[0].table_direction == docx.enum.table.WD_TABLE_DIRECTION.RTL

    path.write_bytes(translated(path, "ar de", lambda text: "" if "print" in text else "Hallo"))
    document = docx.Document(path)
    first = document.paragraphs[0]
    assert first._p.pPr.find(docx.oxml.ns.qn("w:bidi")).get(docx.oxml.ns.qn("w:val")) == "0"
    assert first.runs[0].font.rtl is False
    assert document.tables[0].table_direction == docx.enum.table.WD_TABLE_DIRECTION.LTR


def test_a_letter_in_arabic_becomes_one_in_german(tmp_path: Path) -> None:
    path = letter(tmp_path / "letter.docx", arabic=True)
    path.write_bytes(translated(path, "ar de", lambda text: "" if "print" in text else "Hallo"))
    first = docx.Document(path).paragraphs[0]
    assert first.runs[0].font.rtl is False
    assert first._p.pPr.find(docx.oxml.ns.qn("w:bidi")).get(docx.oxml.ns.qn("w:val")) == "0"


@pytest.mark.parametrize("languages", ["de en", "ar he"])
def test_nothing_is_turned_between_languages_of_one_direction(languages: str, tmp_path: Path) -> None:
    path = letter(tmp_path / "letter.docx")
    rendered = translated(path, languages, lambda text: "ab")
    assert b"bidi" not in zipfile.ZipFile(io.BytesIO(rendered)).read("word/document.xml")


def test_slides_are_turned(tmp_path: Path) -> None:
    path = tmp_path / "talk.pptx"
    talk = pptx.Presentation()
    slide = talk.slides.add_slide(talk.slide_layouts[1])
    slide.shapes.title.text = "Guten Tag"
    slide.placeholders[1].text = "Erstens"
    slide.shapes.add_table(1, 2, 0, 0, 99, 99).table.cell(0, 0).text = "Preis"
    slide.placeholders[1].text_frame.paragraphs[0].alignment = pptx.enum.text.PP_ALIGN.RIGHT
    talk.save(path)
    path.write_bytes(translated(path, "de he", lambda text: "שלום"))
    talk = pptx.Presentation(path)
    levels = talk.slide_master.element.xpath(".//p:bodyStyle/*")
    assert levels
    assert {(level.get("rtl"), level.get("algn")) for level in levels if level.tag.endswith("pPr")} == {
        ("1", "r")
    }
    slide = talk.slides[0]
    assert slide.placeholders[1].text_frame.paragraphs[0].alignment == pptx.enum.text.PP_ALIGN.LEFT
    table = next(shape for shape in slide.shapes if shape.has_table)
    assert table._element.xpath(".//a:tblPr")[0].get("rtl") == "1"

    path.write_bytes(translated(path, "he de", lambda text: "Hallo"))
    talk = pptx.Presentation(path)
    levels = talk.slide_master.element.xpath(".//p:bodyStyle/*")
    assert {(level.get("rtl"), level.get("algn")) for level in levels if level.tag.endswith("pPr")} == {
        ("0", "l")
    }
    table = next(shape for shape in talk.slides[0].shapes if shape.has_table)
    assert table._element.xpath(".//a:tblPr")[0].get("rtl") is None


def test_sheets_are_turned(tmp_path: Path) -> None:
    path = tmp_path / "prices.xlsx"
    book = openpyxl.Workbook()
    book.active["A1"], book.active["A2"] = "Apfel", "Birne"
    book.create_sheet("Zwei")["A1"] = "Kirsche"
    book.save(path)
    path.write_bytes(translated(path, "de fa", lambda text: ARABIC))
    assert [sheet.sheet_view.rightToLeft for sheet in openpyxl.load_workbook(path)] == [True, True]
    path.write_bytes(translated(path, "fa de", lambda text: "Hallo"))
    assert not any(sheet.sheet_view.rightToLeft for sheet in openpyxl.load_workbook(path))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            '<style:paragraph-properties fo:text-align="left" style:writing-mode="lr-tb"/>',
            '<style:paragraph-properties fo:text-align="right" style:writing-mode="rl-tb"/>',
        ),
        (
            f'{DEFAULT}<style:paragraph-properties fo:text-align="start"/>',
            f'{DEFAULT}<style:paragraph-properties style:writing-mode="rl-tb" fo:text-align="start"/>',
        ),
        (
            f'{DEFAULT}<style:paragraph-properties style:writing-mode="page"/>',
            f'{DEFAULT}<style:paragraph-properties style:writing-mode="page"/>',
        ),
        ("<s:page-layout-properties/>", '<s:page-layout-properties s:writing-mode="rl-tb"/>'),
        (
            '<style:table-properties style:writing-mode="tb-rl"/>',
            '<style:table-properties style:writing-mode="tb-rl"/>',
        ),
        (
            '<style:paragraph-properties fo:text-align="left"/>',
            '<style:paragraph-properties fo:text-align="left"/>',
        ),
    ],
)
def test_styles_of_open_document_are_turned(part: str, expected: str) -> None:
    assert turn(part.encode(), True).decode() == expected
    assert turn(expected.encode(), True).decode() == expected


@pytest.mark.parametrize(
    "name", ["letter.odt", "talk.odp", "prices.ods", "letter.docx", "talk.pptx", "prices.xlsx"]
)
def test_turned_documents_are_read_again(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(samples()[name])
    texts = [one.source.text for one in open_document(path).segments]
    path.write_bytes(translated(path, "de ar", lambda text: f"{ARABIC} {text}"))
    again = [one.source.text for one in open_document(path).segments]
    assert len(again) == len(texts)
    assert all(ARABIC in text for text in again)


@pytest.mark.parametrize(
    ("version", "tag", "languages", "expected"),
    [
        ("3.0", '<spine toc="ncx">', "de ar", '<spine toc="ncx" page-progression-direction="rtl">'),
        ("3.0", '<spine page-progression-direction="rtl">', "ar de", "<spine>"),
        ("2.0", "<spine>", "de ar", "<spine>"),
        ("3.0", "<spine>", "de en", "<spine>"),
    ],
)
def test_pages_of_a_book_are_turned_from_the_other_side(
    version: str, tag: str, languages: str, expected: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(io.BytesIO(samples()["book.epub"])) as old:
        files = {name: old.read(name) for name in old.namelist()}
    package = files["OEBPS/book.opf"].decode()
    package = re.sub(
        r'version="[\d.]+"(?=[^?]*>)', f'version="{version}"', package.replace('version="1.0"', "@@")
    )
    files["OEBPS/book.opf"] = re.sub("<spine[^>]*>", tag, package).replace("@@", 'version="1.0"').encode()
    path = tmp_path / "book.epub"
    with zipfile.ZipFile(path, "w") as new:
        for name, content in files.items():
            new.writestr(name, content)
    rendered = translated(path, languages, lambda text: "ab")
    found = zipfile.ZipFile(io.BytesIO(rendered)).read("OEBPS/book.opf").decode()
    assert re.search("<spine[^>]*>", found)[0] == expected  # type: ignore[index]


def test_a_hostile_part_takes_linear_time() -> None:
    part = b"<w:document><!--" + b"<w:p>" * 400_000 + b"-->" + ARABIC.encode()
    start = time.perf_counter()
    word_direction.turn(part, True)
    turn(b"<style:default-style " * 40_000, True)
    assert time.perf_counter() - start < 20
