"""Resources of .NET (.resx, .resw)."""

import re
from pathlib import Path

from multihead_documents.strings.xml_strings import PLAIN, XmlStrings
from multihead_documents.xml.inline import Element, items_of

_REMEDY = "Resources of .NET (.resx, .resw) begin with <root>: give a file of another format its own ending."
_NO_TEXT = re.compile(
    r">>|.*\.(?:Name|Type|Parent|ZOrder|Size|Location|Font|ImeMode|ImageKey|Icon|Image|Anchor|Dock|TabIndex|"
    r"DataMember|DisplayMember|ValueMember|HelpKeyword|NavigateUrl|ImageUrl|CssClass)\Z",
    re.DOTALL,
)
"""Names of the properties of forms that are not text."""


class Resources(XmlStrings):
    """A file of .NET resources. Its segments are the values of strings; a segment's note is the comment.

    Objects (with a type or MIME type), headers and metadata are kept.
    """

    kind = "resx"

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(path, data)
        elements = [element for element, _ in self._children("root", _REMEDY) if element.name == "data"]
        # In the resources of a form, names are those of its controls and their properties.
        names = [element.attributes.get("name", "") for element in elements]
        self._is_form = any(name.startswith((">>", "$this.")) for name in names)
        for element, name in zip(elements, names, strict=True):
            value, comment = element.child("value"), element.child("comment")
            if value and not value.start.empty and self._is_text(element, name):
                note = comment.text.strip() if comment else ""
                self._add_string(value, items_of(value, PLAIN), name, note)

    def _is_text(self, element: Element, name: str) -> bool:
        kind = element.attributes.get("type", "System.String")
        if "mimetype" in element.attributes or not kind.startswith("System.String"):
            return False
        return not (self._is_form and _NO_TEXT.match(name))
