"""Parsers of JSON and TOML for untrusted text: size, nesting and number of values are bounded beforehand.

The parsers of the standard library take memory and time that a small hostile file chooses: a TOML key of
200 kB with 100,000 parts took 22 GB, and a list in JSON takes 30 times its text.
"""

import json
import re
import tomllib
from typing import Any

MAX_JSON_BYTES = 1 << 24
MAX_JSON_VALUES = 1_000_000
"""A million empty lists, the worst case, take 65 MB."""
MAX_TOML_BYTES = 1 << 20
MAX_TOML_VALUES = 60_000
"""A recipe of ours has 20 kB and 100 values; tomllib reads about 200,000 values a second."""
MAX_KEY_PARTS = 16
"""Parts of a dotted TOML key; a recipe needs three. tomllib takes quadratic time and memory."""

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?)"""
_DOT = r"[ \t]*+\.[ \t]*+"
_TOKENS = re.compile(
    r"""#[^\n]*+|"{3}(?:[^"\\]|\\.|"(?!""))*+"{0,5}|'{3}(?:[^']|'(?!''))*+'{0,5}"""
    rf"|(?P<long>{_PART}(?:{_DOT}{_PART}){{{MAX_KEY_PARTS}}})|{_PART}(?:{_DOT}{_PART})*+|[^#\"'\w-]++|.",
    re.DOTALL,
)
"""Comments, strings, dotted keys and the rest: every text is consumed in one pass, in linear time."""


class TooLargeError(ValueError):
    """A text that exceeds a bound; it has not been parsed."""


def parse_json(
    content: bytes | str, *, most_bytes: int = MAX_JSON_BYTES, values: int = MAX_JSON_VALUES
) -> Any:
    """Return the value of a JSON text.

    Args:
        content: the text, UTF-8 if in bytes.
        most_bytes: maximum size, in bytes or characters.
        values: maximum number of values, keys included.

    Raises:
        TooLargeError: it exceeds a bound, or is nested too deeply.
        ValueError: not JSON, or not UTF-8.
    """
    if len(content) > most_bytes:
        raise TooLargeError(f"{len(content):,} bytes, more than {most_bytes:,}")
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    # Separators in strings are counted too: an upper bound, at the speed of memory.
    if sum(map(text.count, ",:[{")) > values:
        raise TooLargeError(f"more than {values:,} values")
    try:
        return json.loads(text)
    except RecursionError:
        raise TooLargeError("too deeply nested") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises:
        TooLargeError: it exceeds a bound, or is nested too deeply.
        tomllib.TOMLDecodeError: not TOML.
        ValueError: a number with too many digits.
    """
    if len(text) > MAX_TOML_BYTES:
        raise TooLargeError(f"{len(text):,} characters, more than {MAX_TOML_BYTES:,}")
    if sum(map(text.count, "=,[\n")) > MAX_TOML_VALUES:
        raise TooLargeError(f"more than {MAX_TOML_VALUES:,} values and lines")
    if token_found := next((token for token in _TOKENS.finditer(text) if token["long"]), None):
        line = text.count("\n", 0, token_found.start()) + 1
        raise TooLargeError(f"a key of more than {MAX_KEY_PARTS} parts in line {line}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TooLargeError("too deeply nested") from None
