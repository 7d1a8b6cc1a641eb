"""Plural rules of Apple's systems (.stringsdict), a property list in XML."""

import re
from collections.abc import Iterator
from pathlib import Path

from multihead_documents.strings.plural_categories import CATEGORIES, plural_categories, source_category
from multihead_documents.strings.xml_strings import PLAIN, Addition, XmlStrings
from multihead_documents.xml.document import prefix_of
from multihead_documents.xml.inline import Element, items_of

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
            member_note = self._comments(element.events[before + 1 : child.first])
            before = child.last
            if child.name == "key":
                key, note = child.text, member_note
            else:
                yield key, child, note

    def _add_value(self, key: str, value: Element, note: str) -> None:
        name = key.rpartition(".")[2]
        if value.name == "string":
            if name == _FORMAT and _VARIABLE.sub("", value.text).strip():
                self._add_text(key, value, note)
            return
        members = {word: text for word, text, _ in self._members(value) if text.name == "string"}
        if name in _VARIANTS:
            for word, text in members.items():
                self._add_text(f"{key}.{word}", text, note)
        else:
            self._add_forms(key, {word: text for word, text in members.items() if word in CATEGORIES}, note)

    def _add_forms(self, key: str, forms: dict[str, Element], note: str) -> None:
        texts = {word: form.text for word, form in forms.items()}
        for word, form in forms.items():
            source = forms[source_category(word, texts, self._wanted)]
            self._add_text(f"{key}.{word}", form, note, source=source)
        for word in plural_categories(self._wanted) if self._wanted and "other" in forms else ():
            if word not in forms:
                last = list(forms.values())[-1]
                self._add_text(f"{key}.{word}", forms["other"], note, self._addition(word, last))

    def _addition(self, word: str, last: Element) -> Addition:
        """Return the key and the string of another form, which follow the last."""
        prefix, space = prefix_of(self._text(last.start.span)), self._indentation(last.start.span.start)
        name = self._bytes(f"<{prefix}key>{word}</{prefix}key>")
        start, end = self._bytes(f"<{prefix}string>"), self._bytes(f"</{prefix}string>")
        return Addition(last.end, space + name + space + start, end)

    def _add_text(
        self,
        key: str,
        text: Element,
        note: str,
        addition: Addition | None = None,
        *,
        source: Element | None = None,
    ) -> None:
        source = source or text
        if not (text.start.empty or source.start.empty):
            self._add_string(text, items_of(source, PLAIN), key, note, addition, source=source)
