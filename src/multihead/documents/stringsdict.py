"""Plural rules of Apple's systems (.stringsdict), a property list in XML."""

import re
from collections.abc import Iterator
from pathlib import Path

from multihead.documents.plural_categories import CATEGORIES, plural_categories
from multihead.documents.xml_document import prefix_of
from multihead.documents.xml_inline import Element, items_of
from multihead.documents.xml_strings import PLAIN, Addition, XmlStrings

_REMEDY = "A .stringsdict file is a property list in XML: plutil -convert xml1 makes one."
_FORMAT = "NSStringLocalizedFormatKey"
_VARIABLE = re.compile(r"%(?:\d+\$)?#@[^@]*@")
_VARIANTS = ("NSStringVariableWidthRuleType", "NSStringDeviceSpecificRuleType")
"""Texts by the width of the screen, or by device."""


class PluralRules(XmlStrings):
    """A file of plural rules. Its segments are plural forms, texts by width or device, formats with words.

    Forms that the target language has and the file lacks are added.
    """

    kind = "stringsdict"

    def __init__(self, path: Path, data: bytes, target_language: str | None = None) -> None:
        super().__init__(path, data)
        self._wanted = target_language
        for top, _ in self._children("plist", _REMEDY):
            for key, entry, _ in self._members(top):
                for name, value, note in self._members(entry):
                    self._add_value(f"{key}.{name}", value, note)

    def _members(self, element: Element) -> Iterator[tuple[str, Element, str]]:
        """Yield keys and values of a dictionary with the comments above them; none of another element."""
        key = note = ""
        before = element.first
        for child in element.children() if element.name == "dict" else ():
            own = self._comments(element.events[before + 1 : child.first])
            before = child.last
            if child.name == "key":
                key, note = child.text, own
            else:
                yield key, child, note

    def _add_value(self, key: str, value: Element, note: str) -> None:
        name = key.rpartition(".")[2]
        if value.name == "string":
            if name == _FORMAT and _VARIABLE.sub("", value.text).strip():
                self._add_text(key, value, note)
            return
        texts = {word: text for word, text, _ in self._members(value) if text.name == "string"}
        chosen = texts if name in _VARIANTS else {word: texts[word] for word in CATEGORIES if word in texts}
        for word, text in sorted(chosen.items(), key=lambda item: item[1].first):
            self._add_text(f"{key}.{word}", text, note)
        if name not in _VARIANTS and self._wanted and "other" in chosen:
            self._add_missing(key, chosen, note)

    def _add_missing(self, key: str, texts: dict[str, Element], note: str) -> None:
        last = max(texts.values(), key=lambda text: text.first)
        tag = self._text(last.start.span)
        prefix, space = prefix_of(tag), self._indentation(last.start.span.start)
        for word in plural_categories(self._wanted or ""):
            if word not in texts:
                start = self._bytes(f"<{prefix}key>{word}</{prefix}key>"), self._bytes(f"<{prefix}string>")
                end = self._bytes(f"</{prefix}string>")
                addition = Addition(last.end, space + start[0] + space + start[1], end)
                self._add_text(f"{key}.{word}", texts["other"], note, addition)

    def _add_text(self, key: str, text: Element, note: str, addition: Addition | None = None) -> None:
        if not text.start.empty:
            self._add_string(text, items_of(text, PLAIN), key, note, addition)
