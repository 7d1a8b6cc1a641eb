"""JSON and properties of programs: values by their keys, judged by json and by translate-toolkit."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from document_samples import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead_documents import Document, open_document
from multihead_documents.errors import DocumentError
from multihead_documents.reading import Text
from multihead_documents.strings.json_strings import StringReader

SAMPLES = samples()


def opened(folder: Path, name: str, data: bytes) -> Document:
    (folder / name).write_bytes(data)
    return open_document(folder / name)


def found(folder: Path, name: str) -> list[tuple[str, str, str]]:
    document = opened(folder, name, SAMPLES[name])
    return [(segment.key, segment.source.text, segment.note) for segment in document.segments]


@pytest.mark.parametrize("name", ["messages.json", "ascii.json", "crlf-messages.json"])
def test_strings_are_segments_by_the_path_of_their_keys(name: str, tmp_path: Path) -> None:
    assert found(tmp_path, name) == [
        ("title", 'Willkommen bei "uns" ä/', ""),
        ("nested.one", "Eine Datei", ""),
        ("nested.other", "{{count}} Dateien", ""),
        ("nested.list.0", "a", ""),
        ("nested.list.5", "b\n안녕 שלום", ""),
        ("greeting", "Hallo $name$", "Der Gruß"),
    ]
    assert found(tmp_path, "app_de.arb") == [("hello", "Hallo {name}", "Der Gruß")]


def test_properties_are_segments_by_their_keys(tmp_path: Path) -> None:
    expected = [
        ("greeting", "Hallo,\xa0{0}! Wie geht's?", "Der Gruß\nzweite Zeile"),
        ("a key:x", "Wert\tmit ä und C:\\Ordner", ""),
        ("b", "ohne Zeichen", ""),
        ("d", "Leerzeichen", "Ende \\"),
        ("e=f", "😀 letzter", ""),
    ]
    assert found(tmp_path, "app.properties") == expected
    assert found(tmp_path, "utf8.properties") == [*expected, ("korean", "안녕 = ä", "")]
    assert found(tmp_path, "latin.properties")[-1] == ("umlaut", "Grün", "")


def test_letters_are_escaped_where_the_file_escapes_them(tmp_path: Path) -> None:
    ascii_json = b'{"a": "\\u00e4"}'
    assert opened(tmp_path, "a.json", ascii_json).render({0: "안"}) == b'{"a": "\\uc548"}'
    assert opened(tmp_path, "a.json", b'{"a": "b"}').render({0: "안"}) == '{"a": "안"}'.encode()
    assert opened(tmp_path, "a.properties", b"a=b").render({0: " 안😀\n"}) == b"a=\\uC548\\uD83D\\uDE00"
    assert opened(tmp_path, "a.properties", "a=ä".encode()).render({0: "안\\"}) == "a=안\\\\".encode()
    assert opened(tmp_path, "a.properties", b"a b").render({0: ":c=d"}) == b"a \\:c=d"
    assert opened(tmp_path, "a.properties", "a=ä".encode("latin-1")).render({0: "ö"}) == b"a=\\u00F6"


def test_white_space_around_a_value_stays(tmp_path: Path) -> None:
    assert opened(tmp_path, "a.json", b'["  a\\n "]').render({0: "b"}) == b'["  b\\n "]'
    assert opened(tmp_path, "a.properties", b"a = \\ b\\n").render({0: "c"}) == b"a = \\ c\\n"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def strings(value: object) -> Iterator[str]:
    """Yield the strings of a value in order, by recursion: the oracle."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_strings_of_any_json_are_found_in_order(value: object, indent: int | None, escapes: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escapes)
    read = list(StringReader(Text("a.json", text, "utf-8")).values())
    assert [string.text for string in read] == list(strings(value))
    assert [json.loads(text[slice(*string.span)]) for string in read] == list(strings(value))


MARKS = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    '"a"',
    "1",
    "-",
    "0",
    ".5",
    "e+1",
    "true",
    "null",
    "nul",
    " ",
    "\n",
    "\\",
    "//",
]


@given(st.lists(st.sampled_from(MARKS), max_size=9).map("".join))
@settings(max_examples=150, deadline=None)
def test_what_is_no_json_is_refused_and_nothing_else(text: str) -> None:
    try:
        json.loads(text)
        sound = True
    except ValueError:
        sound = False
    try:
        list(StringReader(Text("a.json", text, "utf-8")).values())
        read = True
    except DocumentError:
        read = False
    assert read == sound


def test_translate_toolkit_reads_our_messages(tmp_path: Path) -> None:
    toolkit = pytest.importorskip("translate.storage.jsonl10n").JsonNestedFile
    document = opened(tmp_path, "messages.json", SAMPLES["messages.json"])
    document.write({s.number: f'{s.number} <안녕> "\\\n' for s in document.segments}, tmp_path / "out.json")
    with (tmp_path / "out.json").open("rb") as file:
        units = {unit.getid(): unit.target for unit in toolkit(file).units}
    assert units[".title"] == '0 <안녕> "\\'
    assert units[".nested.other"] == '2 <안녕> "\\  '
    assert list(units) == list(_toolkit_ids(toolkit, tmp_path / "messages.json"))


def _toolkit_ids(toolkit: type, path: Path) -> list[str]:
    with path.open("rb") as file:
        return [unit.getid() for unit in toolkit(file).units]


@pytest.mark.parametrize(("name", "kind"), [("app.properties", "java-utf8"), ("latin.properties", "java")])
def test_translate_toolkit_reads_our_properties(name: str, kind: str, tmp_path: Path) -> None:
    module = pytest.importorskip("translate.storage.properties")
    document = opened(tmp_path, name, SAMPLES[name])
    words = [f"{s.number} = <안녕>: C:\\x\ty" for s in document.segments]
    document.write(dict(enumerate(words)), tmp_path / "out.properties")
    store = module.propfile(personality=kind)
    store.parse((tmp_path / "out.properties").read_bytes())
    shown = [unit.source for unit in store.units if unit.source]
    assert [text.strip() for text in shown] == words
