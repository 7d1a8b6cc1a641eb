"""Android string resources: what its compiler reads is what was translated."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from document_samples import samples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from multihead_documents import Document, Markup, open_document, repair
from multihead_documents.errors import DocumentError
from multihead_documents.strings.plural_categories import plural_categories

SAMPLE = samples()["strings.xml"].decode()
NAMESPACE = ' xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"'


def opened(folder: Path, text: str, target: str | None = None) -> Document:
    (folder / "strings.xml").write_text(text, encoding="utf-8", newline="")
    return open_document(folder / "strings.xml", target_language=target)


def strings(*lines: str) -> str:
    return "\n".join([f"<resources{NAMESPACE}>", *(f"    {line}" for line in lines), "</resources>\n"])


def compiled(page: str, name: str = "a") -> str:
    """Return a string as Android's compiler (aapt2) reads it; a judge that shares no code with the reader.

    Raises:
        ValueError: an apostrophe that is not escaped.
    """
    element = next(node for node in ElementTree.fromstring(page).iter("string") if node.get("name") == name)
    units = iter("".join(element.itertext()))
    result, quoted, pending = "", False, False
    for unit in units:
        if unit in " \t\r\n" and not quoted:
            pending = True
            continue
        result += " " if pending and result else ""
        pending = False
        if unit == '"':
            quoted = not quoted
        elif unit == "\\":
            result += _escape(next(units), units)
        elif unit == "'" and not quoted:
            raise ValueError("an unescaped apostrophe")
        else:
            result += unit
    if element.text and re.match(r"\s*[@?]", element.text):
        raise ValueError("a reference")
    return result


def _escape(unit: str, units: Iterator[str]) -> str:
    if unit == "u":
        return chr(int("".join(next(units) for _ in range(4)), 16))
    return {"n": "\n", "t": "\t"}.get(unit, unit)


def test_texts_are_found_by_their_names(tmp_path: Path) -> None:
    found = {segment.key: str(segment.source) for segment in opened(tmp_path, SAMPLE).segments}
    assert found == {
        "hello": "Hallo, {1/}! Geht's gut?",
        "bold": "Das ist {1}sehr {2}wichtig{/2}{/1} & {3}hier{/3}.",
        "long": "Mehrere Zeilen, die eine sind.",
        "quoted": "Zwei  Räume, es 'bleibt' dabei",
        "half": "Preis   und Wert",
        "cdata": "Ein <b>fetter</b> Text & mehr",
        "escapes": '@home ä "so" \\ 50%% ?',
        "as_item": "Auch ein Text",
        "days.0": "Montag",
        "days.1": "Dienstag",
        "files.one": "%d Datei",
        "files.other": "%d Dateien",
    }


def test_comments_directly_above_are_notes(tmp_path: Path) -> None:
    notes = {segment.key: segment.note for segment in opened(tmp_path, SAMPLE).segments if segment.note}
    assert notes == {"hello": "Gruß mit dem Namen", "days.1": "nicht Diens-Tag"}


def test_translations_are_escaped_as_the_compiler_needs_them(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE, "fr")
    words = 'l\'été  "50%" <x> & \\n\n?'
    changed = document.render({s.number: repair(s.source, Markup.of(words)) for s in document.segments})
    page = changed.decode()
    spelled = r"l\'été \u0020\"50%\" &lt;x&gt; &amp; \\n\n?"
    assert f'<string name="as_item">{spelled}</string>' not in page
    assert f'<item type="string" name="as_item">{spelled}</item>' in page
    assert f'<string name="quoted">"  {spelled}  "</string>' in page
    assert f'<string name="long">\n        {spelled}\\n\n    </string>' in page
    assert r"<![CDATA[l\'été \u0020\"50%\" <x> & \\n\n?]]>" in page
    assert '<xliff:g id="name" example="Eva">%1$s</xliff:g>' in page
    assert 'tools:locale="fr"' in page
    for name in ("quoted", "half", "cdata", "escapes"):
        assert compiled(page, name).strip() == words
    for kept in ("Zettel", "@string/app_name", "?attr/title", "#ff0000", "bleibt</item>", "@string/hello"):
        assert kept in page


@pytest.mark.parametrize(
    ("line", "text", "written"),
    [
        ('<string name="a">x</string>', "@home", r'<string name="a">\@home</string>'),
        ('<string name="a">x</string>', "?", r'<string name="a">\?</string>'),
        ('<string name="a">x</string>', "a@b?", '<string name="a">a@b?</string>'),
        ('<string name="a"> "x" </string>', "y", '<string name="a"> "y" </string>'),
        ('<string name="a">"x</string>', "y", '<string name="a">"y"</string>'),
        ('<string name="a">"x" y</string>', "y", '<string name="a">"y"</string>'),
        ('<string name="a">a <!-- b --> c</string>', "y", '<string name="a">y</string>'),
        (
            '<string name="a"><![CDATA[x]]></string>',
            "]]>",
            '<string name="a"><![CDATA[]]]]><![CDATA[>]]></string>',
        ),
        (
            '<string name="a">\n  <![CDATA[ x ]]>\n</string>',
            "y",
            '<string name="a">\n   <![CDATA[y]]> \n</string>',
        ),
        ('<string name="a">x\\</string>', "y\\", '<string name="a">y\\\\</string>'),
        ('<string name="a">&#x22;x&quot;</string>', "y", '<string name="a">&#x22;y&quot;</string>'),
        ('<string name="a">x\\ud83d\\ude00</string>', "😀\x07", '<string name="a">😀\\u0007</string>'),
    ],
)
def test_a_string_is_written_in_its_own_manner(line: str, text: str, written: str, tmp_path: Path) -> None:
    page = opened(tmp_path, strings(line)).render({0: text}).decode()
    assert page == strings(written)
    assert compiled(page).strip() == text
    assert opened(tmp_path, page).segments[0].source.text == text


LETTERS = [
    "'",
    '"',
    "\\",
    "@",
    "?",
    " ",
    "  ",
    "\n",
    "\t",
    "\r",
    "<",
    "&",
    "]]>",
    "a",
    "é",
    "안",
    "%1$s",
    "\x07",
    "n",
    "u",
]
SOURCES = ["x", '"x"', ' "x  ', 'x "y', "<![CDATA[x]]>", '<![CDATA["x]]>', "\\'x", "&quot;x", "x&#32; "]


@given(
    st.lists(st.sampled_from(LETTERS) | st.text(max_size=2), max_size=9).map("".join),
    st.sampled_from(SOURCES),
)
@example("'@", '"x')
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_compiler_reads_any_translation(tmp_path: Path, text: str, source: str) -> None:
    text = re.sub("[\0\ud800-\udfff]", "\ufffd", text).strip()
    if not text:
        return
    page = opened(tmp_path, strings(f'<string name="a">{source}</string>')).render({0: text}).decode()
    read = compiled(page)
    assert read.encode("utf-16", "surrogatepass").decode("utf-16").strip() == text
    assert opened(tmp_path, page).segments[0].source.text == text


@pytest.mark.parametrize(
    ("language", "wanted"),
    [("ko", []), ("fr", []), ("pl", ["few", "many"]), ("ar-EG", ["zero", "two", "few", "many"]), ("??", [])],
)
def test_quantities_of_the_target_language_are_added(
    language: str, wanted: list[str], tmp_path: Path
) -> None:
    document = opened(tmp_path, SAMPLE, language)
    added = [segment for segment in document.segments if segment.key.startswith("files.")][2:]
    assert [segment.key for segment in added] == [f"files.{quantity}" for quantity in wanted]
    assert all(segment.source.text == "%d Dateien" for segment in added)
    assert document.render({}) == SAMPLE.encode()
    page = document.render({segment.number: f"%d {segment.key}" for segment in added}).decode()
    lines = "".join(f'\n        <item quantity="{one}">%d files.{one}</item>' for one in wanted)
    end = '<item quantity="other">%d Dateien</item>'
    assert page.replace(f'"{language}"', '"de"') == SAMPLE.replace(end, end + lines)
    again = opened(tmp_path, page, language)
    assert [segment.key for segment in again.segments] == [segment.key for segment in document.segments]


@pytest.mark.parametrize(
    ("language", "source"), [("en", "Eine Datei"), ("pl", "Eine Datei"), ("ru", "%d Dateien")]
)
def test_a_form_for_1_and_21_is_translated_with_its_number(
    language: str, source: str, tmp_path: Path
) -> None:
    one, other = (f'<item quantity="{name}">{{}}</item>' for name in ("one", "other"))
    page = strings(f'<plurals name="a">{one.format("Eine Datei")}{other.format("%d Dateien")}</plurals>')
    document = opened(tmp_path, page, language)
    assert [s.source.text for s in document.segments][:2] == [source, "%d Dateien"]
    assert document.render({0: "x"}).decode() == page.replace("Eine Datei", "x")
    rules = samples()["Localizable.stringsdict"]
    (tmp_path / "a.stringsdict").write_bytes(rules)
    form = open_document(tmp_path / "a.stringsdict", target_language=language).segments[0]
    assert (form.key, form.source.text) == ("files.files.one", source.replace("Dateien", "Dateien & mehr"))


@pytest.mark.parametrize("language", ["ar", "cs", "de", "fr", "ga", "he", "ja", "lt", "lv", "pl", "ru", "sl"])
def test_plural_categories_are_those_of_unicode(language: str) -> None:
    rule = pytest.importorskip("babel").Locale(language).plural_form
    # CLDR also has categories that only fractions or millions have.
    assert {rule(number) for number in range(200)} | {"other"} == set(plural_categories(language))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<xliff version='1.2'/>", r"strings\.xml:1: XML that begins with <xliff>, not with <resources>"),
        ("<!-- a -->\n<html><body/></html>", r"strings\.xml:2: XML that begins with <html>"),
        ("key = value", "not well-formed"),
        (f"<resources>{'<string>' * 9}", "not well-formed"),
        ('<!DOCTYPE resources [<!ENTITY a "b">]><resources/>', r"declares an entity \(a\)"),
        (
            '<!DOCTYPE resources [<!ENTITY % a SYSTEM "file:///etc/passwd">%a;]><resources/>',
            "declares an entity",
        ),
        ("<resources><string name='a'>&nbsp;</string></resources>", "not well-formed|unknown entity"),
        ("<resources><string name='a'><xliff:g>b</xliff:g></string></resources>", "unbound prefix"),
        ('<resources xmlns="urn:x"/>', "not with <resources>"),
    ],
)
def test_another_file_is_refused_with_a_remedy(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        opened(tmp_path, text)
    assert caught.value.remedy


def test_a_file_without_texts_has_no_segments(tmp_path: Path) -> None:
    for text in ("<resources/>", strings('<color name="a">#fff</color>'), strings('<string name="a"/>')):
        assert not opened(tmp_path, text).segments
