"""Segments of WMT's test sets: .sgm files of one side, and .xml files (since WMT21) of both sides."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text.languages import primary
from multihead.text.lines import read_lines

_ELEMENT = re.compile(
    r"<(doc|src|ref|hyp)\b([^<>]{0,2000})>"
    r"|<seg\b([^<>]{0,2000})>([^<]*(?:<(?!/?seg\b)[^<]*)*)</seg>",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*["']([^"']*)["']""")
_MOST_CHARACTERS = 1 << 26


class _Segment(NamedTuple):
    """A segment, the number of its document, the element around it (src, ref, hyp), its language, its id."""

    text: str
    document: int
    side: str
    language: str
    id: str


def read_segments(path: str, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the segments of an .sgm file, one side of a test set. White space is joined.

    Raises:
        UserError: see ``text.lines.read_lines``; there is no segment; the file is too large for a test set.
    """
    return (segment.text for segment in _segments(path, encoding))


def read_test_set(data: DataSettings, path: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of an .xml file: each source segment with the first reference to it.

    Args:
        data: the languages, "" for those of <src> and of the first <ref>, and the encoding.
        path: the file.
        kind: "wmt".

    Raises:
        UserError: as ``read_segments``; the file has no reference, or none in these languages.
    """
    sides: dict[tuple[str, str], dict[tuple[int, str], str]] = {}
    for segment in _segments(path, data.encoding):
        if segment.side in ("src", "ref"):
            texts = sides.setdefault((segment.side, segment.language), {})
            texts.setdefault((segment.document, segment.id or str(len(texts))), segment.text)

    def of(side: str, language: str) -> dict[tuple[int, str], str]:
        wanted = (code for name, code in sides if name == side and primary(code) == primary(language or code))
        return sides.get((side, next(wanted, "")), {})

    for source, target in (("src", "ref"), ("ref", "src")):  # either direction
        left, right = of(source, data.source_language), of(target, data.target_language)
        if shared := [number for number in left if number in right]:
            yield from ((left[number], right[number]) for number in shared)
            return
    languages = ", ".join(sorted({language for _, language in sides})) or "none"
    remedy = "Name its languages, or set data.format to tmx or xliff if it is one of these."
    raise UserError(f"no pair of <src> and <ref> (languages: {languages})", place=path, remedy=remedy)


def _segments(path: str, encoding: str) -> Iterator[_Segment]:
    lines, size = [], 0
    for line in read_lines(path, encoding):
        lines.append(line)
        size += len(line)
        if size > _MOST_CHARACTERS:
            fact = f"more than {_MOST_CHARACTERS >> 20} million characters, too large for a test set"
            raise UserError(fact, place=path, remedy="Save its text, one sentence a line.")
    text = "\n".join(lines)
    document, side, language, empty = 0, "", "", True
    for element in _ELEMENT.finditer(text):
        if element[1] is None:
            empty = False
            segment = " ".join(html.unescape(element[4]).split())
            yield _Segment(segment, document, side, language, _attribute(element[3], "id"))
        elif element[1].lower() == "doc":
            document, side = document + 1, ""
        else:
            side, language = element[1].lower(), _attribute(element[2], "lang")
    if empty:
        remedy = "Set data.format to lines if it is plain text, to tmx or xliff if it is one of these."
        raise UserError("no <seg> element", place=path, remedy=remedy)
    if text.lower().count("<seg") != text.lower().count("</seg>"):
        raise UserError("a <seg> without its end", place=path, remedy="Is the file complete?")


def _attribute(tag: str, name: str) -> str:
    attributes: dict[str, str] = {key.lower(): value for key, value in _ATTRIBUTE.findall(tag)}
    return attributes.get(name, "")
