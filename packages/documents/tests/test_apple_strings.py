"""String tables of Apple's systems: .strings and .stringsdict."""

import plistlib
import re
from pathlib import Path
from typing import Any

import pytest
from document_samples import samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multihead_documents import Document, open_document
from multihead_documents.errors import DocumentError

TABLE = samples()["Localizable.strings"].decode()
RULES = samples()["Localizable.stringsdict"].decode()


def opened(folder: Path, text: str, name: str = "a.strings", target: str | None = None) -> Document:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return open_document(folder / name, target_language=target)


def table(page: str) -> dict[str, str]:
    """Return keys and values of a table; a judge that shares no code with the reader."""
    string = r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)*'|[\w.]+"
    token = re.compile(rf"\s+|/\*.*?\*/|//[^\n]*|({string})\s*=\s*({string})\s*(?:/\*.*?\*/\s*)?;", re.DOTALL)
    result: dict[str, str] = {}
    place = 0
    while place < len(page):
        found = token.match(page, place)
        assert found, page[place:]
        place = found.end()
        if found[1]:
            result[_meant(found[1])] = _meant(found[2])
    return result


def _meant(raw: str) -> str:
    text = raw[1:-1] if raw[0] in "\"'" else raw
    names = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
    pattern = re.compile(r"\\(?:U([0-9a-fA-F]{4})|(.))", re.DOTALL)
    text = pattern.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else names.get(found[2], found[2]), text
    )
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def test_values_are_found_by_their_keys_with_the_comments_above(tmp_path: Path) -> None:
    found = [(s.key, s.source.text, s.note) for s in opened(tmp_path, TABLE).segments]
    assert found == [
        ("hello", 'Hallo %@, "schön" und\ngut\\', "Gruß auf der ersten Seite"),
        ("Einfach", "Einfach\tä", ""),
        ("unquoted.key", "wert", "eine Zeile"),
        ("single", 'Ein "Wort" und\'s', ""),
        ("two\nlines", "über\nzwei Zeilen", ""),
        ("url", "https://a.example/*b", ""),
        ("next", "Nächster", ""),
    ]


def test_translations_are_written_in_the_manner_of_the_values(tmp_path: Path) -> None:
    document = opened(tmp_path, TABLE)
    page = document.render({segment.number: "a \"b\" 'c'\n\\ é" for segment in document.segments}).decode()
    spelled = r"a \"b\" 'c'\n\\ é"
    assert f'"hello" = "{spelled}";' in page
    assert f'"Einfach" = "  {spelled} ";' in page
    assert f'unquoted.key = "{spelled}";' in page
    assert r"'single' = 'a \"b\" \'c\'\n\\ é';" in page
    assert f'"two\nlines" = "{spelled}"  /* dahinter */ ;' in page
    assert '"empty" = "";' in page
    before, after = table(TABLE), table(page)
    assert {key: value.strip() for key, value in after.items()} == {
        key: "a \"b\" 'c'\n\\ é" if value else "" for key, value in before.items()
    }


@pytest.mark.parametrize(
    ("text", "translation", "written"),
    [
        ('"Schlüssel";', "key", '"Schlüssel" = "key";'),
        ("a=b;", "c", "a=c;"),
        ("a=b;", "c d", 'a="c d";'),
        ('"a"="\\U00e4";', "é😀", '"a"="\\U00e9\\Ud83d\\Ude00";'),
        ('"a"="ä";', "é😀", '"a"="é😀";'),
        ("\ufeff\"a\" = 'b';\r\n", "c'", "\ufeff\"a\" = 'c\\'';\r\n"),
        ('/**/"a"/**/=/**/"b"/**/;/**/', "c", '/**/"a"/**/=/**/"c"/**/;/**/'),
        ('"a" = "\\101\\q\\x";', "c", '"a" = "c";'),
        ('//"x"="y";\n"a" = "b"; // c', "d", '//"x"="y";\n"a" = "d"; // c'),
    ],
)
def test_an_entry_in_any_form_is_translated(
    text: str, translation: str, written: str, tmp_path: Path
) -> None:
    document = opened(tmp_path, text)
    assert len(document.segments) == 1
    assert document.render({}).decode() == text
    assert document.render({0: translation}).decode() == written


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'"a" = "b"', r"a\.strings:1: .*a semicolon is missing"),
        (b'\n"a" = "b;', r"a\.strings:2: .*a value without closing quote"),
        (b'"a" = ;', "a value is missing"),
        (b'"a" = { b = c; };', "a value is missing"),
        (b'/* a\n"a" = "b";', "a comment without an end"),
        (b"<!DOCTYPE html>", "a compiled table of strings"),
        (b"bplist00\xd1\x01", "a compiled table of strings"),
        ('"a" = "b";'.encode("utf-16-le"), "a NUL character"),
        (b'"a" = "\xe4";', r"a\.strings:1: not UTF-8"),
    ],
)
def test_another_file_is_refused_with_a_remedy(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.strings").write_bytes(data)
    with pytest.raises(DocumentError, match=message) as caught:
        open_document(tmp_path / "a.strings")
    assert caught.value.remedy


SPICE = st.sampled_from(
    ['"', "'", "\\", "\n", "\r", ";", "/*", "//", "\\U00e4", "é", "안", "😀", "\x07", "\x7f"]
)
TEXTS = st.lists(SPICE | st.text(max_size=2), max_size=8).map("".join)


@given(TEXTS, st.sampled_from(['"x"', "'x'", "x", '"\\U00e4"']), st.sampled_from(["utf-8", "utf-16"]))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_independent_parser_reads_any_translation(
    tmp_path: Path, text: str, source: str, encoding: str
) -> None:
    text = re.sub("[\0\ud800-\udfff]", "\ufffd", text).strip()
    if not text:
        return
    (tmp_path / "a.strings").write_bytes(f'"key" = {source};\n"b" = "c";'.encode(encoding))
    document = open_document(tmp_path / "a.strings")
    page = document.render({0: text}).decode(encoding)
    assert table(page) == {"key": text, "b": "c"}


def rules(page: str) -> dict[str, Any]:
    return dict(plistlib.loads(page.encode()))


def test_plural_forms_and_formats_with_words_are_translated(tmp_path: Path) -> None:
    document = opened(tmp_path, RULES, "a.stringsdict")
    assert [(segment.key, segment.source.text) for segment in document.segments] == [
        ("files.files.one", "Eine Datei"),
        ("files.files.other", "%d Dateien & mehr"),
        ("found.NSStringLocalizedFormatKey", "Gefunden: %#@files@"),
        ("greeting.NSStringVariableWidthRuleType.20", "Hallo"),
        ("greeting.NSStringVariableWidthRuleType.50", "Guten Tag"),
    ]
    assert document.segments[2].note == "Ergebnis einer Suche"
    page = document.render({segment.number: f"<{segment.number}>" for segment in document.segments}).decode()
    expected = rules(RULES)
    expected["files"]["files"].update(one="<0>", other="<1>")
    expected["found"]["NSStringLocalizedFormatKey"] = "<2>"
    expected["greeting"]["NSStringVariableWidthRuleType"] = {"20": "<3>", "50": "<4>"}
    assert rules(page) == expected


def test_plural_forms_of_the_target_language_are_added(tmp_path: Path) -> None:
    document = opened(tmp_path, RULES, "a.stringsdict", "pl")
    targets = {s.number: s.key for s in document.segments if s.key.endswith(("few", "many"))}
    assert [document.segments[number].source.text for number in targets] == ["%d Dateien & mehr"] * 2
    page = document.render(targets).decode()
    added = "".join(
        f"\n\t\t\t<key>{form}</key>\n\t\t\t<string>files.files.{form}</string>" for form in ("few", "many")
    )
    end = "<string>%d Dateien &amp; mehr</string>"
    assert page == RULES.replace(end, end + added)
    assert rules(page)["files"]["files"]["few"] == "files.files.few"


def test_another_property_list_has_no_segments(tmp_path: Path) -> None:
    for text in ("<plist/>", "<plist><array><string>a</string></array></plist>"):
        assert not opened(tmp_path, text, "a.stringsdict").segments
    with pytest.raises(DocumentError, match="not with <plist>"):
        opened(tmp_path, "<a/>", "a.stringsdict")
