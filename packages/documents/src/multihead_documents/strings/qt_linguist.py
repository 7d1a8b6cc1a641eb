"""Translations of Qt Linguist (.ts)."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, Item, trim
from multihead_documents.segment import Plural, Segment, State, Translation
from multihead_documents.splice import Edit
from multihead_documents.xml.document import XmlDocument, start_tag, with_attributes
from multihead_documents.xml.events import Event, escape, xml_events
from multihead_documents.xml.inline import Element, Vocabulary, collect, items_of, target_markup

_CODES = Vocabulary(containers=(), opening={}, closing={}, ids=("value",))
_BYTE = re.compile(r'<byte\s+value\s*=\s*["\'](?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}))["\']')
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f]")
_REMEDY = "Give another XML its own ending; move the texts of TypeScript into a file such as .json."
_BLANK = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
"""Bytes of white space and of byte-order marks."""
_OBSOLETE = ("obsolete", "vanished")


class _Message(NamedTuple):
    """A message: its ``<translation>`` and the forms in it, None for a message without plural forms."""

    translation: Element
    forms: list[Element] | None


class QtTranslations(XmlDocument):
    """A TS file. Translations are replaced; those to be reviewed are ``unfinished``.

    Obsolete messages, and translations of several lengths, are kept.
    """

    kind = "qt"

    def __init__(self, path: Path, data: bytes, target_language: str | None = None) -> None:
        super().__init__(path, data)
        self._root: Event | None = None
        self._segments: list[tuple[_Message, Element, Inline]] = []
        context = ""
        if not data.lstrip(_BLANK).startswith(b"<"):
            fact = "no translations of Qt Linguist, which begin with <TS>"
            raise DocumentError(fact, place=f"{path}:1", remedy=_REMEDY)
        events = xml_events([data], str(path))
        for event in events:
            if event.kind != "start":
                continue
            if self._root is None:
                self._begin(event, target_language)
            elif event.name == "name":
                context = collect(event, events, str(path)).text.strip()
            elif event.name == "message":
                self._add_message(collect(event, events, str(path)), context)

    def _begin(self, root: Event, target_language: str | None) -> None:
        if root.name != "TS":
            fact = f"not a file of Qt Linguist: it begins with <{root.name[:40]}>, not with <TS>"
            raise DocumentError(fact, place=f"{self.path}:{root.line}", remedy=_REMEDY)
        self._root = root
        self.source_language = root.attributes.get("sourcelanguage") or None
        self.target_language = root.attributes.get("language") or target_language

    def _add_message(self, message: Element, context: str) -> None:
        children = {child.name: child for child in reversed(list(message.children()))}
        source, translation = children.get("source"), children.get("translation")
        if source is None or translation is None or translation.attributes.get("variants") == "yes":
            return
        kind = translation.attributes.get("type", "")
        inline = trim(self._items(source), f"{self.path}:{source.start.line}", size=self._size)
        if inline is None or kind in _OBSOLETE:
            return
        forms = [child for child in translation.children() if child.name == "numerusform"]
        whole = _Message(translation, forms if message.attributes.get("numerus") == "yes" else None)
        names = ("extracomment", "translatorcomment")
        note = "\n".join(text for name in names if name in children and (text := children[name].text.strip()))
        comment = children["comment"].text.strip() if "comment" in children else ""
        for index, element in enumerate([translation] if whole.forms is None else whole.forms):
            target = target_markup(self._items(element), inline)
            state: State = "new" if not target else "needs-review" if kind == "unfinished" else "translated"
            self._segments.append((whole, element, inline))
            self._add(
                Segment(
                    len(self.segments),
                    inline.markup,
                    f"{self.path}:{source.start.line}",
                    target=target,
                    state=state,
                    key=message.attributes.get("id", ""),
                    context=" | ".join(filter(None, (context, comment))),
                    note=note,
                    plural=None if whole.forms is None else Plural(index, len(forms)),
                )
            )

    def _items(self, element: Element) -> list[Item]:
        """Return the items of an element; ``<byte>`` is a character that XML cannot hold."""
        items = items_of(element, _CODES)
        return [Item(_character(self._text(span)) or piece, span) for piece, span in items]

    def _escape(self, text: str) -> bytes:
        return self._bytes(escape(text, _spell_character))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        assert self._root
        if translations and self.target_language and not self._root.attributes.get("language"):
            changes = {"language": self.target_language.replace("-", "_")}
            yield Edit(self._root.span, [self._with_attributes(self._root.span, changes)])
        changed: dict[int, list[int]] = defaultdict(list)
        for number in translations:
            changed[self._segments[number][0].translation.start.span.start].append(number)
        for numbers in changed.values():
            message = self._segments[numbers[0]][0]
            start = message.translation.start
            tag = self._start_tag(message, [translations[number] for number in numbers])
            if tag != self._text(start.span) and not start.empty:
                yield Edit(start.span, [self._bytes(tag)])
            for number in numbers:
                _, element, inline = self._segments[number]
                content = self._content(inline, translations[number])
                if element.start.empty:
                    header_edits = (
                        tag if element.first == message.translation.first else self._text(element.start.span)
                    )
                    close = self._bytes(f"</{element.name}>")
                    yield Edit(element.start.span, [self._bytes(start_tag(header_edits)), *content, close])
                else:
                    yield Edit(element.content, content)

    def _start_tag(self, message: _Message, new: list[Translation]) -> str:
        """Return a message's tag: unfinished to be reviewed, finished once all plural forms are new."""
        start = message.translation.start
        review = any(translation.review for translation in new)
        whole = len(new) == len(message.forms or [start])
        if review or whole:
            return with_attributes(self._text(start.span), {"type": "unfinished" if review else None})
        return self._text(start.span)


def _spell_character(letter: str) -> str:
    return f'<byte value="x{ord(letter):x}"/>' if _CONTROL.match(letter) else "\ufffd"


def _character(raw: str) -> str:
    """Return the control character that ``<byte value="x1b"/>`` stands for; "" for anything else."""
    match = _BYTE.match(raw)
    if not match:
        return ""
    code = int(match[1], 16) if match[1] else int(match[2])
    return chr(code) if _CONTROL.match(chr(min(code, 0x20))) else ""
