"""The language of a translation is written where a document names its language, and its direction too."""

from pathlib import Path

import pytest

from multihead.documents import Markup, open_document
from multihead.documents.writing import is_right_to_left, with_region


@pytest.mark.parametrize(
    ("code", "right_to_left", "regional"),
    [
        ("de", False, "de-DE"),
        ("de-AT", False, "de-AT"),
        ("ar", True, "ar-EG"),
        ("he", True, "he-IL"),
        ("ckb", True, "ckb-IQ"),
        ("zh-Hant", False, "zh-Hant-TW"),
        ("qq", False, "qq"),
        ("no code", False, "no code"),
    ],
)
def test_direction_and_region(code: str, right_to_left: bool, regional: str) -> None:
    assert is_right_to_left(code) == right_to_left
    assert with_region(code) == regional


@pytest.mark.parametrize(
    ("page", "languages", "expected"),
    [
        ('<html lang="de"><p>a', "de ar", '<html lang="ar" dir="rtl"><p>B'),
        ("<html lang=de><p>a", "de he", '<html lang=he dir="rtl"><p>B'),
        ('<html dir="ltr" lang="de"><p dir="ltr">a', "de fa", '<html dir="rtl" lang="fa"><p dir="ltr">B'),
        ('<html lang="ar" dir="rtl"><p>a', "ar en", '<html lang="en" dir="ltr"><p>B'),
        ('<html lang="de" dir="auto"><p>a', "de ar", '<html lang="ar" dir="auto"><p>B'),
        ('<html lang="fr"><p>a', "de ar", '<html lang="fr"><p>B'),
        ('<html lang="de"><p>a', "de en", '<html lang="en"><p>B'),
        ('<html lang="ar" dir="rtl"><p>a', "ar fa", '<html lang="fa" dir="rtl"><p>B'),
    ],
)
def test_a_page_is_turned_with_its_language(page: str, languages: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    source, target = languages.split()
    document = open_document(tmp_path / "a.html", source_language=source, target_language=target)
    assert document.rendered({0: Markup.of("B")}).decode() == expected
