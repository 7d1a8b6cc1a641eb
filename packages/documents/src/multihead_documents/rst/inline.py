"""Inline markup of reStructuredText, recognised by the rules of docutils."""

import re
import unicodedata
from collections.abc import Iterator

from multihead_documents.inline import Item
from multihead_documents.markup import Kind, Tag
from multihead_documents.rst.directives import TEXT_ROLES
from multihead_documents.rst.lines import Block

OPENERS = "\"'(<[{"
CLOSERS = "\"')>]}"
BEFORE = OPENERS + "-/:"
"""Signs after which markup may begin, beside white space and those of other scripts."""
AFTER = CLOSERS + "-/:\\.,;!?"
"""Signs before which markup may end."""

_ROLE = r":[a-zA-Z0-9][\w.:+-]{0,60}:"
_SPECIAL = re.compile(rf"\\|\*\*?|``?|_`|\||{_ROLE}`|\[[^\[\]\s]{{1,80}}\]_|(?<=\w)__?(?!\w)")
_ENDS = {
    sign: re.compile(rf"(?:(?<!\s)|(?<=\\ )){end}")
    for sign, end in {
        "*": r"\*",
        "**": r"\*\*",
        "``": "``",
        "`": rf"`(?:__?|{_ROLE})?",
        "_`": "`",
        "|": r"\|_{0,2}",
    }.items()
}
_NAME = re.compile(r"(?:(?!_)\w)+(?:[-._+:](?:(?!_)\w)+)*\Z")
_FOOTNOTE = re.compile(r"\[(?:[0-9]+|#(?:\w[\w.:+-]*)?|\*|\w[\w.:+-]*)\]_")
_TARGET = re.compile(r"\s+<[^<>]{1,2000}>\Z")
_LONGEST_NAME = 100


def inline_items(block: Block) -> list[Item]:
    """Return the unpaired items of a block."""
    if block.kind == "raw":
        return [Item(block.content.replace("\n", " "), block.span(0, len(block.content)))]
    return list(_Scan(block).items())


def may_begin(before: str, after: str) -> bool:
    """Return whether markup may begin between two characters, which are "" at the ends of a text."""
    if not after or after.isspace():
        return False
    place = OPENERS.find(before) if before else -1
    if place >= 0 and after == CLOSERS[place]:
        return False
    return (
        not before or before.isspace() or before in BEFORE or _is_sign(before, ("Ps", "Pi", "Pf", "Pd", "Po"))
    )


def may_end(after: str) -> bool:
    """Return whether markup may end before a character."""
    return not after or after.isspace() or after in AFTER or _is_sign(after, ("Pe", "Pi", "Pf", "Pd", "Po"))


def _is_sign(letter: str, categories: tuple[str, ...]) -> bool:
    return not letter.isascii() and unicodedata.category(letter) in categories


class _Scan:
    """A scan of a block from left to right."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.content = block.content
        self.at = 0
        self.hopeless: set[str] = set()
        """Markup that does not end any more."""

    def items(self) -> Iterator[Item]:
        """Yield the items."""
        content = self.content
        place = 0
        while match := _SPECIAL.search(content, place):
            sign, place = match[0], match.end()
            if sign == "\\":
                yield from self._texts(match.start())
                place = min(place + 1, len(content))
                escaped = content[match.start() + 1 : place]
                yield self._item("" if escaped.isspace() else escaped, place)
            elif sign[0] == "_" and sign != "_`":
                yield from self._reference(match)
            elif sign[0] == "[":
                begins = self._begins(match.start(), match.start(), is_name=True)
                if _FOOTNOTE.fullmatch(sign) and begins and self._ends(place):
                    yield from self._texts(match.start())
                    yield self._tag(place, "alone", "reference")
            elif markup := self._markup(match):
                end, name, inner = markup
                yield from self._texts(match.start())
                if inner:
                    yield self._tag(inner[0], "open", name)
                    yield from self._inner(inner[1])
                    yield self._tag(end, "close", name)
                else:
                    yield self._tag(end, "alone", name)
                place = end
            elif sign[0] == ":":
                place -= 1  # without the role it may be markup
        yield from self._texts(len(content))

    def _markup(self, found: re.Match[str]) -> tuple[int, str, tuple[int, int] | None] | None:
        """Return end, name and inner text of the markup that a sign begins; None if it begins none."""
        sign, start, inner = found[0], found.start(), found.end()
        kind = "`" if sign[0] == ":" else sign
        if not self._begins(start, inner):
            return None
        closing = self._closing(kind, inner)
        if not closing:
            return None
        begin, end = closing.span()
        suffix = closing[0].lstrip("`")
        role = sign.strip(":`") if sign[0] == ":" else suffix.strip(":") if suffix[:1] == ":" else ""
        if kind in ("*", "**"):
            return end, kind, (inner, begin)
        target = _TARGET.search(self.content, inner, begin)
        if kind == "`" and target and target.start() > inner and (suffix in ("_", "__") or role):
            return end, "link", (inner, target.start())
        if kind == "`" and role.rpartition(":")[2] in TEXT_ROLES:
            return end, "role", (inner, begin)
        return end, "kept", None

    def _closing(self, kind: str, inner: int) -> re.Match[str] | None:
        """Return the end of markup that begins at an offset."""
        if kind in self.hopeless:
            return None
        place = inner + 1
        while match := _ENDS[kind].search(self.content, place):
            place = match.start() + 1
            slashes = match.start() - len(self.content[inner : match.start()].rstrip("\\")) - inner
            is_escaped = kind != "``" and slashes % 2 == 1
            if not is_escaped and self._ends(match.end()):
                return match
        self.hopeless.add(kind)
        return None

    def _reference(self, found: re.Match[str]) -> Iterator[Item]:
        """Yield a reference, ``name_``, and the text before it."""
        begin = max(self.at, found.start() - _LONGEST_NAME)
        name = _NAME.search(self.content, begin, found.start())
        if name and self._ends(found.end()) and self._begins(name.start(), found.start(), is_name=True):
            yield from self._texts(name.start())
            yield self._tag(found.end(), "alone", "reference")

    def _begins(self, start: int, inner: int, *, is_name: bool = False) -> bool:
        before = self.content[start - 1 : start] if start else ""
        after = self.content[start if is_name else inner :][:1]
        return may_begin(before, after)

    def _ends(self, end: int) -> bool:
        return may_end(self.content[end : end + 1])

    def _inner(self, end: int) -> Iterator[Item]:
        """Yield text inside markup, where escapes alone are special."""
        while (slash := self.content.find("\\", self.at, end)) >= 0:
            yield from self._texts(slash)
            after = min(slash + 2, end)
            escaped = self.content[slash + 1 : after]
            yield self._item("" if escaped.isspace() else escaped, after)
        yield from self._texts(end)

    def _texts(self, end: int) -> Iterator[Item]:
        """Yield text; the end of a line is an item of its own."""
        while self.at < end:
            line = self.content.find("\n", self.at, end)
            if line == self.at:
                yield self._item(" ", line + 1)
            else:
                stop = end if line < 0 else line
                yield self._item(self.content[self.at : stop], stop)

    def _item(self, piece: str | Tag, end: int) -> Item:
        start, self.at = self.at, end
        return Item(piece, self.block.span(start, end))

    def _tag(self, end: int, kind: Kind, name: str) -> Item:
        raw = " ".join(self.content[self.at : end].split("\n"))
        return self._item(Tag("", kind, name, raw), end)
