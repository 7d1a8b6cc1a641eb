"""The language of a translation is written where a document names its language, and its direction too."""

import zipfile
from pathlib import Path

import pytest
from document_samples import samples

from multihead_documents import Markup, open_document
from multihead_documents.office.languages import replace_language
from multihead_documents.writing import is_right_to_left, with_region


@pytest.mark.parametrize(
    ("code", "right_to_left", "regional"),
    [
        ("de", False, "de-DE"),
        ("de-AT", False, "de-AT"),
        ("ar", True, "ar-EG"),
        ("he", True, "he-IL"),
        ("ckb", True, "ckb-IQ"),
        ("zh-Hant", False, "zh-TW"),
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
    assert document.render({0: Markup.of("B")}).decode() == expected


@pytest.mark.parametrize(
    ("languages", "part", "expected"),
    [
        ("de en", '<w:lang w:val="de-AT" w:eastAsia="ja-JP"/>', '<w:lang w:val="en-US" w:eastAsia="ja-JP"/>'),
        ("de ko", "<w:lang w:val='de' w:eastAsia='ja-JP'/>", "<w:lang w:val='ko-KR' w:eastAsia='ko-KR'/>"),
        ("ko en", '<w:lang w:val="en-GB" w:eastAsia="ko-KR"/>', '<w:lang w:val="en-GB" w:eastAsia="en-US"/>'),
        ("de ar", '<w:lang w:val="fr-FR" w:bidi="he-IL"/>', '<w:lang w:val="fr-FR" w:bidi="ar-EG"/>'),
        ("de fr-CA", '<w:themeFontLang w:val="de-DE"/>', '<w:themeFontLang w:val="fr-CA"/>'),
        ("de en", '<w:style w:val="de-DE"/>', '<w:style w:val="de-DE"/>'),
        ("de en", '<a:rPr b="1" lang="de-DE" sz="9"/>', '<a:rPr b="1" lang="en-US" sz="9"/>'),
        ("de en", '<a:endParaRPr lang="fr-FR"/>', '<a:endParaRPr lang="fr-FR"/>'),
        (
            "de en",
            '<style:text-properties fo:country="AT" fo:language="de" style:language-asian="zh"/>',
            '<style:text-properties fo:country="US" fo:language="en" style:language-asian="zh"/>',
        ),
        (
            "de nds",
            '<style:text-properties fo:language="de" fo:country="DE" style:country-asian="CN"/>',
            '<style:text-properties fo:language="nds" fo:country="DE" style:country-asian="CN"/>',
        ),
        (
            "de ja",
            '<text-properties style:language-asian="none" style:country-asian="none" fo:language="fr"/>',
            '<text-properties style:language-asian="ja" style:country-asian="JP" fo:language="fr"/>',
        ),
        ("de en", "<dc:language>de-DE</dc:language>", "<dc:language>en</dc:language>"),
        ("de en", "<dc:language>fr</dc:language>", "<dc:language>fr</dc:language>"),
        ("de _", '<w:lang w:val="de-DE" w:eastAsia="ja-JP"/>', '<w:lang w:val="_" w:eastAsia="ja-JP"/>'),
        ("de qq", '<w:lang w:val="de-DE"/>', '<w:lang w:val="qq"/>'),
    ],
)
def test_languages_of_office_documents_are_renamed(languages: str, part: str, expected: str) -> None:
    source, target = languages.split()
    assert replace_language(part.encode(), source, target).decode() == expected


@pytest.mark.parametrize(
    ("name", "part", "before", "after"),
    [
        ("letter.docx", "word/document.xml", b'<w:lang w:val="de-DE"/>', b'<w:lang w:val="en-US"/>'),
        ("talk.pptx", "ppt/slides/slide2.xml", b'<a:rPr lang="de-DE"', b'<a:rPr lang="en-US"'),
    ],
)
def test_spelling_checkers_are_told_the_language_of_a_translation(
    name: str, part: str, before: bytes, after: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(samples()[name])
    document = open_document(path, source_language="de", target_language="en")
    assert document.render({}) == path.read_bytes()
    (tmp_path / "out").write_bytes(document.render({len(document.segments) - 1: Markup.of("Words")}))
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "out") as new:
        assert before in old.read(part)
        assert after in new.read(part)
        assert before not in new.read(part)
