"""String resources of Android (``res/values/strings.xml``)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from multihead_documents.inline import Item
from multihead_documents.markup import Markup
from multihead_documents.segment import Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.strings.plural_categories import plural_categories, source_category
from multihead_documents.strings.xml_strings import Addition, String, XmlStrings
from multihead_documents.xml.document import Parts, prefix_of
from multihead_documents.xml.inline import Element, Vocabulary, items_of

_REMEDY = (
    "Of .xml files Android's string resources, <resources>, are read. Give another format its own ending "
    "(.xliff, .tmx, .ts, .resx, .xhtml), or have its texts exported as XLIFF or PO."
)
_XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
_UNIT = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|.)|\"|[ \t\r\n]+"
    r"|[^\\\" \t\r\n]++(?: [^\\\" \t\r\n]++)*+|\\",
    re.DOTALL,
)
"""An escape, a quote, white space, or words with single spaces between them."""
_QUOTE = re.compile('"|&quot;|&#0*34;|&#x0*22;', re.IGNORECASE)
_NAMES = {"n": "\n", "t": "\t"}
_ESCAPED = re.compile("[\\\\'\"\t\n]|(?<= ) |[\0-\x1f\x7f-\x9f\ufffe\uffff]")
_ESCAPES = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_REFERENCE = re.compile(r"@(?:\+?(?:[\w.]+:)?[a-z]+/[\w.]+|null|empty)|\?(?:[\w.]+:)?(?:attr/)?[\w.]+")
"""The name of another resource, or of an attribute of the theme."""


class AndroidStrings(XmlStrings):
    """A file of string resources. Its segments are strings, items of string arrays, and plural forms.

    Escapes are decoded, and written as the Android compiler needs them. ``<xliff:g>`` is a single tag.
    """

    kind = "android"

    def __init__(self, path: Path, data: bytes, target_language: str | None = None) -> None:
        super().__init__(path, data)
        self._wanted = target_language
        for element, note in self._children("resources", _REMEDY):
            if element.attributes.get("translatable") == "false":
                continue
            name = element.attributes.get("name", "")
            if element.name == "string" or (
                element.name == "item" and element.attributes.get("type") == "string"
            ):
                self._add_text(element, name, note)
            elif element.name in ("string-array", "plurals"):
                self._add_items(element, name, note)
        locale = self._root.attributes.get("locale") if self._root else None
        self.source_language = locale or None

    def _add_items(self, element: Element, name: str, note: str) -> None:
        before = element.first
        items: dict[str, tuple[Element, str]] = {}
        for number, child in enumerate(element.children()):
            item_note = "\n".join(
                filter(None, (note, self._comments(element.events[before + 1 : child.first])))
            )
            before = child.last
            if child.name == "item" and not child.start.empty:
                key = child.attributes.get("quantity", "") if element.name == "plurals" else str(number)
                items[key] = child, item_note
        texts = {key: item.text for key, (item, _) in items.items()} if element.name == "plurals" else {}
        for key, (item, item_note) in items.items():
            source = items[source_category(key, texts, self._wanted) if texts else key][0]
            self._add_text(item, f"{name}.{key}", item_note, source=source)
        if texts and self._wanted:
            last = list(items.values())[-1][0]
            for quantity in plural_categories(self._wanted):
                if quantity not in items:
                    source = items[source_category(quantity, texts, self._wanted)][0]
                    self._add_text(source, f"{name}.{quantity}", note, self._addition(quantity, source, last))

    def _addition(self, quantity: str, source: Element, last: Element) -> Addition:
        """Return the item of another quantity, which follows the last."""
        start = self._with_attributes(source.start.span, {"quantity": quantity})
        end = self._bytes(f"</{prefix_of(self._text(source.start.span))}item>")
        return Addition(last.end, self._indentation(last.start.span.start) + start, end)

    def _add_text(
        self,
        element: Element,
        key: str,
        note: str,
        addition: Addition | None = None,
        *,
        source: Element | None = None,
    ) -> None:
        """Add an element's text, or the one of another element in its place."""
        source = source or element
        if element.start.empty or _REFERENCE.fullmatch(source.text.strip()):
            return
        names = {event.name for event in source.events if event.space != _XLIFF}
        vocabulary = Vocabulary(containers=names, opening={}, closing={}, ids=())
        items = list(self._decode(items_of(source, vocabulary)))
        self._add_string(element, items, key, note, addition, source=source)

    def _decode(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield tags as they are, texts by escapes, quotes and white space.

        White space is one space outside quotes; the quotes themselves are empty.
        """
        quoted = spaced = False
        for unit, span in self._units(items):
            if not isinstance(unit, str):
                yield Item(unit, span)
                spaced = False
                continue
            if unit == '"':
                quoted = not quoted
                unit = ""
            elif unit[0] == "\\":
                unit, spaced = _letter(unit), False
            elif unit.isspace() and unit[0] in " \t\r\n" and not quoted:
                unit, spaced = "" if spaced else " ", True
            else:
                spaced = False
            yield Item(unit, span)

    def _units(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield tags and units of text with their spans."""
        run: list[Item] = []
        for item, after in pairwise([*items, None]):
            assert item
            if not isinstance(item.piece, str):
                yield item
                continue
            run.append(item)
            if after and isinstance(after.piece, str) and after.span.start == item.span.end:
                continue
            units = _UNIT.findall("".join(str(part.piece) for part in run))
            start = run[0].span.start
            for unit, end in zip(units, self._ends(run, units), strict=True):
                yield Item(unit, Span(start, end))
                start = end
            run = []

    def _ends(self, run: Sequence[Item], units: Sequence[str]) -> Iterator[int]:
        """Yield the offset in the file of the end of each unit of the run's text."""
        texts = iter([(str(item.piece), item.span) for item in run])
        text, span = next(texts)
        used, offset = 0, span.start  # characters of the text before the next unit; their end in the file
        for unit in units:
            length = len(unit)
            while length > len(text) - used:
                length -= len(text) - used
                text, span = next(texts)
                used, offset = 0, span.start
            part = text[used : used + length]
            used += length
            offset = span.end if used == len(text) else offset + self._size(part)
            yield offset

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        if translations and self._wanted and self._root and self.source_language:
            match = re.search(r"[\w.-]+:locale(?=\s*=)", self._text(self._root.span))
            if match:
                yield Edit(
                    self._root.span, [self._with_attributes(self._root.span, {match[0]: self._wanted})]
                )
        yield from super()._edits(translations)

    def _write(self, string: String, target: Markup) -> Parts:
        lead, _, trail = string.inline
        quotes = sum(self._is_quote(item) for item in (*lead, *trail))
        pieces = [_spell(piece) if isinstance(piece, str) else piece for piece in target.pieces]
        if pieces and isinstance(pieces[0], str) and pieces[0].startswith(("@", "?")):
            pieces[0] = f"\\{pieces[0]}"  # else the name of another resource
        # Of a pair of quotes one may have been in the text that is replaced.
        return super()._write(string, Markup.of(*pieces, '"' * (quotes % 2)))

    def _is_quote(self, item: Item) -> bool:
        return item.piece == "" and bool(_QUOTE.fullmatch(self._text(item.span)))


def _letter(escape: str) -> str:
    """Return the character that an escape stands for."""
    if escape[1:2] == "u" and len(escape) > 2:
        units = bytes.fromhex(escape.replace("\\u", ""))
        return units.decode("utf-16-be", "surrogatepass" if len(units) == 2 else "strict")
    return _NAMES.get(escape[1:], escape[1:] or "\\")


def _spell(text: str) -> str:
    """Escape a text.

    >>> _spell("it's  so")
    "it\\\\'s \\\\u0020so"
    """
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}", text)
