"""Parser of PO files with source offsets (GNU gettext manual, "PO Files")."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from gettext import c2py

from multihead_documents.errors import DocumentError
from multihead_documents.reading import Text, lines_of
from multihead_documents.segment import Plural
from multihead_documents.splice import Span
from multihead_documents.subtitles.line_wrapping import columns

COLUMNS = 79
"""Line width of the gettext tools."""

_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*')
_KEYWORD = re.compile(r"\s*(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,2})\])?(?=[\s\"])")
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', **{text: f"\\{name}" for name, text in _ESCAPED.items()}})


@dataclass
class Value:
    """A string after a keyword; the span runs from its first quote to its last."""

    span: Span
    parts: list[str] = field(default_factory=list)
    """Its text, line by line."""

    @property
    def text(self) -> str:
        """Its text."""
        return "".join(self.parts)


@dataclass
class Entry:
    """A message: spans of its comment lines, offset of its first keyword, values."""

    comments: list[Span] = field(default_factory=list)
    start: int = 0
    values: dict[str, Value] = field(default_factory=dict)
    """By keyword: ``msgctxt``, ``msgid``, ``msgid_plural``."""
    forms: dict[int, Value] = field(default_factory=dict)
    """Translations by plural form; 0 alone for a message without plural."""

    def text(self, keyword: str) -> str:
        """Return the value of a keyword, "" if absent."""
        return self.values[keyword].text if keyword in self.values else ""

    @property
    def plural(self) -> bool:
        """True for a message with plural forms."""
        return "msgid_plural" in self.values


def entries(text: Text) -> Iterator[Entry]:
    """Yield the entries of a PO file, without obsolete ones (``#~``).

    Raises:
        DocumentError: a malformed line or entry.
    """
    entry = Entry()
    value: Value | None = None
    for line in lines_of(text.text):
        content = text.text[line.start : line.end].removeprefix("\ufeff")
        stripped = content.strip()
        if stripped.startswith("#") or not stripped:
            if entry.forms and stripped:
                yield entry
                entry = Entry()
            elif entry.values and stripped:
                raise _fault(text, line, "a comment inside an entry")
            if stripped.startswith("#~"):
                entry = Entry()
            elif stripped:
                entry.comments.append(line)
            value = None
            continue
        match = _KEYWORD.match(content)
        if match:
            if entry.forms and not (match[1] == "msgstr" and match[2]):
                yield entry
                entry = Entry()
            value = _begin(text, entry, line, match[1], match[2])
        string = _STRING.fullmatch(content, match.end() if match else 0)
        if string is None or value is None:
            raise _fault(text, line, "not a line of a PO file")
        shift = line.end - len(content)
        first = (
            value.span.start if value.span.end else shift + content.index('"', match.end() if match else 0)
        )
        value.span = Span(first, shift + string.end(1) + 1)
        value.parts.append(unescape(string[1]))
    if entry.forms:
        yield entry
    elif entry.values:
        raise DocumentError("an entry without msgstr", place=text.place(entry.start), remedy="Complete it.")


def _begin(text: Text, entry: Entry, line: Span, keyword: str, form: str | None) -> Value:
    """Add a value to the entry. Raises ``DocumentError`` if it is out of order."""
    value = Value(Span(0, 0))
    number = int(form or 0)
    if not entry.values:
        entry.start = line.start
    if keyword == "msgstr":
        if "msgid" not in entry.values or number in entry.forms or (form is not None) != entry.plural:
            raise _fault(text, line, f"{keyword} where none belongs")
        entry.forms[number] = value
    else:
        if (
            keyword in entry.values
            or form is not None
            or ("msgid" in entry.values) != (keyword == "msgid_plural")
        ):
            raise _fault(text, line, f"{keyword} where none belongs")
        entry.values[keyword] = value
    return value


def _fault(text: Text, line: Span, fact: str) -> DocumentError:
    return DocumentError(
        fact, place=text.place(line.start), remedy="msgfmt --check names every fault of the file."
    )


def unescape(raw: str) -> str:
    """Decode the escapes of a quoted string.

    >>> unescape(r'a\\tb \\"c\\" \\x41')
    'a\\tb "c" A'
    """

    def letter(found: re.Match[str]) -> str:
        octal, hexadecimal, other = found.groups()
        if other is not None:
            return _ESCAPED.get(other, other)
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))

    return _ESCAPE.sub(letter, raw)


def quote(text: str, before: int, newline: str, wrap: bool) -> str:
    """Quote a text: on one line, or ``""`` and then one line for each line of text.

    Args:
        text: any text.
        before: width of the keyword.
        newline: line end of the file.
        wrap: whether to wrap lines at ``COLUMNS``.
    """
    lines = [line.translate(_ESCAPES) for line in re.findall(r"[^\n]*\n|[^\n]+", text)]
    if len(lines) < 2 and (not wrap or before + 2 + columns("".join(lines)) <= COLUMNS):
        return f'"{"".join(lines)}"'
    if wrap:
        lines = [part for line in lines for part in _wrap(line)]
    return newline.join(['""', *(f'"{line}"' for line in lines)])


def _wrap(line: str) -> Iterator[str]:
    """Wrap an escaped line after spaces."""
    part, used = "", 0
    for word in re.findall(r"[^ ]* +|[^ ]+", line):
        length = columns(word)
        if part and used + length + 2 > COLUMNS:
            yield part
            part, used = "", 0
        part, used = part + word, used + length
    yield part


def plural_forms(header: str) -> list[Plural] | None:
    """Return the plural forms that a header declares, None if it declares none."""
    match = re.search(r"Plural-Forms:\s*nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;\n]+)", header)
    if not match or not 1 <= (count := int(match[1])) <= 20:
        return None
    rule: Callable[[int], int]
    try:
        rule = c2py(match[2].strip())
        numbers: dict[int, list[int]] = {}
        for number in range(1001):
            numbers.setdefault(rule(number), []).append(number)
    except (ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return [Plural(index, count) for index in range(count)]
    return [Plural(index, count, tuple(numbers.get(index, ())[:5])) for index in range(count)]
