"""Headers and footers of Excel sheets are translated between their codes; openpyxl is the judge."""

from pathlib import Path
from typing import Any

import pytest

from multihead_documents import Document, Markup, open_document

openpyxl = pytest.importorskip("openpyxl")


def workbook(folder: Path, **sections: str) -> Path:
    """Write a workbook; ``header_left`` is the left section of the header."""
    book = openpyxl.Workbook()
    book.active["A1"] = "Zelle"
    for name, text in sections.items():
        part, side = name.split("_")
        getattr(getattr(book.active, f"odd{part.capitalize()}"), side).text = text
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def translated(document: Document, *words: str) -> Any:
    """Return the sheet of a workbook whose texts, after the first, are made of these words."""
    targets = {}
    for segment, word in zip(document.segments[1:], words, strict=True):
        pieces = (word if isinstance(piece, str) else piece for piece in segment.source.pieces)
        targets[segment.number] = Markup.of(*pieces)
    document.write(targets, document.path.with_name("b.xlsx"))
    return openpyxl.load_workbook(document.path.with_name("b.xlsx")).active


def test_each_section_and_line_is_a_text(tmp_path: Path) -> None:
    path = workbook(
        tmp_path,
        header_left="Müller & Söhne",
        header_center="Bericht\nzweite Zeile",
        header_right="Seite &P von &N",
        footer_left="&D",
        footer_center="&BFett&B und 2024",
    )
    document = open_document(path)
    assert [str(segment.source) for segment in document.segments] == [
        "Zelle",
        "Müller & Söhne",
        "Bericht",
        "zweite Zeile",
        "Seite {1/} von {2/}",
        "Fett{1/} und 2024",
    ]
    sheet = translated(document, "A & B", "report", "line", "p.", "bold")
    assert sheet.oddHeader.left.text == "A && B"  # openpyxl leaves codes as they are
    assert sheet.oddHeader.center.text == "report\nline"
    assert sheet.oddHeader.right.text == "p.&Pp.&N"
    assert sheet.oddFooter.left.text == "&D"
    assert sheet.oddFooter.center.text == "&Bbold&Bbold"
    assert sheet["A1"].value == "Zelle"


def test_digits_do_not_join_the_codes_before_them(tmp_path: Path) -> None:
    path = workbook(tmp_path, header_left="&8Jahr &P Ende", header_center="&P+1&IEnde")
    sheet = translated(open_document(path), "2024", "-1")
    assert sheet.oddHeader.left.size == 8
    assert sheet.oddHeader.left.text == "2024&P2024"
    assert sheet.oddHeader.center.text == "&P+1&I-1"


def test_a_header_too_long_for_excel_stays(tmp_path: Path) -> None:
    document = open_document(workbook(tmp_path, header_left="Eins", header_right="Zwei"))
    assert [segment.max_length for segment in document.segments[1:]] == [125, 125]
    sheet = translated(document, "a" * 125, "b" * 125)
    assert (sheet.oddHeader.left.text, sheet.oddHeader.right.text) == ("a" * 125, "b" * 125)
    sheet = translated(document, "a" * 130, "b" * 125)
    assert (sheet.oddHeader.left.text, sheet.oddHeader.right.text) == ("Eins", "Zwei")


def test_nothing_but_codes_and_numbers_is_no_text(tmp_path: Path) -> None:
    document = open_document(
        workbook(tmp_path, header_left="&P / &N", header_center="2024", footer_right="&A")
    )
    assert [segment.source.text for segment in document.segments] == ["Zelle"]
    assert document.render({0: document.segments[0].source})


def test_a_translation_without_letters_is_read_again(tmp_path: Path) -> None:
    document = open_document(workbook(tmp_path, header_left="Eins"))
    document.write({1: "<"}, tmp_path / "b.xlsx")
    assert [segment.source.text for segment in open_document(tmp_path / "b.xlsx").segments] == ["Zelle", "<"]
