"""Any text that a translator may give survives being written and read again."""

import os
import re
from pathlib import Path

import pytest
from document_samples import samples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from multihead_documents import Document, Markup, open_document, repair

LINE_BY_LINE = (".srt", ".po", ".md")
SAMPLES = {
    name: data
    for name, data in samples().items()
    if not name.startswith("crlf") or name.endswith(LINE_BY_LINE)  # others take line ends for white space
}
EXAMPLES = int(os.environ.get("EXAMPLES", "9"))
OPEN_DOCUMENT = (".odt", ".odp", ".ods")
OFFICE = (".docx", ".pptx", ".xlsx")
ARCHIVES = (*OFFICE, *OPEN_DOCUMENT)
BILINGUAL = (".po", ".pot", ".xlf", ".xliff", ".tmx", ".ts", ".xcstrings")

SPICE = [
    "<",
    ">",
    "&",
    "&amp;",
    "&lt;",
    '"',
    "'",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "*",
    "_",
    "`",
]
SPICE += [
    "|",
    "#",
    "-->",
    "<b>",
    "</p>",
    "]]>",
    "<!--",
    "%s",
    "\x00",
    "\x07",
    "\x1b",
    "\x85",
    "\u2028",
    "\ufffe",
]
SPICE += [
    "안녕",
    "שלום",
    "東京",
    "😀",
    "é",
    " ",
    "  ",
    "word",
    "1.",
    "- ",
    "+ ",
    "> ",
    "\n\n",
    "=",
    ":",
    "!",
    "\ud800",
]
SPICE += [
    "http://a.b/c",
    "~~~",
    "---",
    "\\n",
    "\\u0041",
    "$",
    "(",
    ")",
    "{0}",
    "''",
    "\u00a0",
    "\u200f",
    "<!",
    "</",
]
TEXTS = st.lists(st.sampled_from(SPICE) | st.text(max_size=3), min_size=1, max_size=12).map("".join)


def held(name: str, text: str) -> str:
    """Return what a format can hold of a text: white space as it treats it, what it cannot spell replaced."""
    text = re.sub("[\0\ud800-\udfff]", "\ufffd", text).strip()
    kind = Path(name).suffix
    if kind in (".epub", *OPEN_DOCUMENT):
        text = text.replace("\f", " ")
    if kind == ".ts":
        text = re.sub("[\ufffe\uffff]", "\ufffd", text)
    if kind in (".xlf", ".xliff", ".tmx", ".epub", ".resx", ".stringsdict", *ARCHIVES) and "two" not in name:
        text = re.sub("[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text)
    if kind == ".srt":
        text = re.sub(r"</?(?:i|b|u|s|font)(?:\s[^<>\n]*)?>", lambda tag: f"‹{tag[0][1:-1]}›", text)
        text = text.replace("-->", "→")
    if kind == ".ass":
        text = re.sub(r"\\(?=[Nnh])", "⧵", text.replace("{", "(").replace("}", ")"))
    if kind in (".txt", ".ass"):
        text = re.sub(r"[^\S\r\n\v\f\x85\u2028\u2029]*[\r\n\v\f\x85\u2028\u2029]\s*", " ", text)
    if kind in OFFICE:
        text = re.sub("[\t\n\r]", " ", text)
    if kind == ".rst":
        text = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]+", " ", text)
    if kind in (".md", ".ipynb", ".rst", ".tex", *ARCHIVES):
        text = collapsed(text)
    if kind == ".htm":
        text = re.sub("[\x80-\x9f\ufdd0-\ufdef\ufffe\uffff]", "\ufffd", text)
    if kind in (".srt", ".vtt"):
        text = collapsed(text)
    return text.strip()


def collapsed(text: str) -> str:
    return re.sub("[\t\n\f\r ]+", " ", text)


def shown(text: str) -> str:
    """Return a text without what begins a speaker's line, or what white space may have become."""
    return re.sub(r"^(?:[-‐–—\s\ufffd]|\[[^\[\]\n]{1,60}\])+|[\s\ufffd]+$", "", text)


def opened(folder: Path, name: str, data: bytes) -> Document:
    path = folder / name
    path.write_bytes(data)
    return open_document(path, target_language="ko" if name.endswith(("f", ".xcstrings")) else None)


@pytest.mark.parametrize("name", SAMPLES)
@given(text=TEXTS, choice=st.integers(0, 1000))
@example(text="<b>&amp;\"'\\", choice=0)
@example(text="a -->\n\n1\n00:00:01,000 --> 00:00:02,000\nb", choice=1)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_survives(tmp_path: Path, name: str, text: str, choice: int) -> None:
    document = opened(tmp_path, name, SAMPLES[name])
    segment = document.segments[choice % len(document.segments)]
    expected = held(name, text)
    if not shown(expected) or "\ufeff" in text:
        return
    target = repair(segment.source, Markup.of(text))
    changed = opened(tmp_path, name, document.render({segment.number: target}))
    assert len(changed.segments) == len(document.segments)
    found = changed.segments[segment.number]
    result = found.target if Path(name).suffix in BILINGUAL else found.source
    assert result is not None
    found_text = shown("".join(piece for piece in result.pieces if isinstance(piece, str)))
    if (
        "htm" in name or "epub" in name
    ) and not segment.context:  # an attribute keeps its white space, a paragraph does not
        expected = collapsed(expected)
    assert found_text == shown(expected)
    for old, new in zip(document.segments, changed.segments, strict=True):
        assert old.number == segment.number or (old.source, old.target) == (new.source, new.target)
