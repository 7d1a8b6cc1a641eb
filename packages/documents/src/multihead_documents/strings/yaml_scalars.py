"""Spelling of texts as YAML scalars of one line (YAML 1.1 and 1.2)."""

import json
import re

_SPECIAL = re.compile(
    r"[\s\[\]{}<>|*&!%#`@,?:\"'~=.+-]|.*(?::(?:\s|\Z)|\s#)|(?:true|false|null|yes|no|on|off|y|n)\Z|[\d.]"
    r"|.*[\n\\]",
    re.IGNORECASE,
)
"""Texts that may be read as something else, if they are not in quotes."""
_FLOW = re.compile(r"[,\[\]{}:?]")
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def is_plain(text: str, *, flow: bool = False) -> bool:
    """Return True if a text can stand without quotes.

    Args:
        text: one line.
        flow: inside of brackets or braces.
    """
    plain = text == text.strip() and text.isprintable() and not _SPECIAL.match(text)
    return plain and not (flow and _FLOW.search(text))


def spell(text: str, quote: str = "", *, flow: bool = False) -> str:
    """Return a text in quotes of this kind; in none or in others where it needs that.

    Args:
        text: the text; line breaks are escaped.
        quote: ``"``, ``'``, or "" for none.
        flow: inside of brackets or braces.
    """
    if quote == "'" and text.isprintable() and "'" not in text:
        return f"'{text}'"
    if not quote and is_plain(text, flow=flow):
        return text
    return _CONTROL.sub(
        lambda found: f"\\x{ord(found[0]):02x}" if found[0] <= "\xff" else f"\\u{ord(found[0]):04x}",
        json.dumps(text, ensure_ascii=False),
    )
