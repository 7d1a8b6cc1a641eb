"""Reserved symbols of a vocabulary: language and domain tags, placeholders, inline tags, term markers.

A tokenizer that reserves a symbol holds it as one token: never split, and never read from plain text.
*Marked text* is text in which symbols occur. Plain text that is spelt like a symbol is escaped there by a
backslash after its "<"; ``unescape`` undoes ``escape`` exactly, for any text.

    >>> escape("Press <ph0>.")
    'Press <\\\\ph0>.'
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from multihead.errors import UserError

PLACEHOLDERS = tuple(f"<ph{number}>" for number in range(16))
"""Parts of a sentence that are copied: variables, URLs, numbers. Few sentences have more than ten."""
PAIRS = tuple((f"<g{number}>", f"</g{number}>") for number in range(8))
"""Opening and closing inline tags, named after XLIFF's ``<g>``."""
STANDALONE = tuple(f"<x{number}/>" for number in range(4))
"""Inline tags without content, named after XLIFF's ``<x/>``."""
TERM, TERM_TARGET, TERM_END = "<term>", "<trans>", "</term>"
"""A source term with its target beside it (Dinu et al. 2019): ``<term> Maus <trans> mouse </term>``."""
BACK_TRANSLATED, COPIED = "<bt>", "<copy>"
"""First tokens of a source that was back-translated (Caswell et al. 2019) or copied from the target."""

STANDARD = (
    BACK_TRANSLATED,
    COPIED,
    *PLACEHOLDERS,
    *(symbol for pair in PAIRS for symbol in pair),
    *STANDALONE,
    TERM,
    TERM_TARGET,
    TERM_END,
)
"""Symbols that suit any corpus: 41, half a per cent of a vocabulary of 8,000 tokens."""
ALL_STANDARD = "standard"
"""Name of all standard symbols in ``tokenizer.symbols``."""

SPACE = "▁"
"""The token of a space before a symbol."""

_SHAPES = (
    r"2[a-z]{2,8}(?:-[a-z0-9]{1,8})*",
    r"domain-[a-z0-9]+(?:-[a-z0-9]+)*",
    r"bt|copy",
    r"ph[0-9]{1,3}",
    r"/?g[0-9]{1,3}",
    r"x[0-9]{1,3}/",
    r"/?term|trans",
)
_SHAPE = rf"(?:{'|'.join(_SHAPES)})>"
_SYMBOL = re.compile(f"<{_SHAPE}")
_LITERAL = re.compile(rf"<(?=\\*{_SHAPE})")
_ESCAPED = re.compile(rf"<\\(?=\\*{_SHAPE})")


class SymbolKind(Enum):
    """The use of a symbol."""

    LANGUAGE = "language"
    DOMAIN = "domain"
    ORIGIN = "origin"
    CONTENT = "placeholder, inline tag or term marker"


def language(code: str) -> str:
    """Return the tag that asks for a target language, ``<2de>`` (Johnson et al. 2017); ``code`` in any case.

    Raises:
        UserError: the code does not have the form of one ("de", "zh-Hant", "nds").
    """
    return _name(f"<2{code.strip().lower().replace('_', '-')}>", code, 'a language code such as "de"')


def domain(name: str) -> str:
    """Return the tag of a domain, ``<domain-legal>``.

    Raises:
        UserError: the name has other characters than letters a to z, digits and single hyphens.
    """
    return _name(f"<domain-{name.strip().lower()}>", name, "letters a to z, digits and single hyphens")


def _name(symbol: str, name: str, expected: str) -> str:
    if not is_symbol(symbol):
        raise UserError(f'"{name}" cannot be a tag', place="tokenizer.symbols", remedy=f"Write {expected}.")
    return symbol


def is_symbol(text: str) -> bool:
    """Return whether a text is a reserved symbol of some vocabulary."""
    return _SYMBOL.fullmatch(text) is not None


def kind(symbol: str) -> SymbolKind:
    """Return the use of a symbol."""
    assert is_symbol(symbol)
    if symbol in (BACK_TRANSLATED, COPIED):
        return SymbolKind.ORIGIN
    if symbol.startswith("<2"):
        return SymbolKind.LANGUAGE
    return SymbolKind.DOMAIN if symbol.startswith("<domain-") else SymbolKind.CONTENT


def choose_symbols(names: Iterable[str]) -> tuple[str, ...]:
    """Return the symbols that ``tokenizer.symbols`` names, each once, in order.

    Args:
        names: symbols as they are written, and "standard" for all of ``STANDARD``.

    Raises:
        UserError: a name is not a symbol.
    """
    symbols: dict[str, None] = {}
    for name in names:
        if name != ALL_STANDARD and not is_symbol(name):
            remedy = (
                f'Write "{ALL_STANDARD}", "{language("de")}", "{domain("legal")}" or "{PLACEHOLDERS[0]}".'
            )
            raise UserError(f'"{name}" is not a reserved symbol', place="tokenizer.symbols", remedy=remedy)
        symbols.update(dict.fromkeys(STANDARD if name == ALL_STANDARD else [name]))
    return tuple(symbols)


def escape(text: str) -> str:
    """Return plain text as marked text: text spelt like a symbol gets a backslash after its "<"."""
    return _LITERAL.sub(r"<\\", text)


def unescape(text: str) -> str:
    """Return marked text as plain text: one backslash is removed from each escape; symbols stay."""
    return _ESCAPED.sub("<", text)


def split(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of marked text in order: (unescaped text, False) or (symbol, True). None is empty."""
    end = 0
    for match in _SYMBOL.finditer(text):
        if end < match.start():
            yield unescape(text[end : match.start()]), False
        yield match[0], True
        end = match.end()
    if end < len(text):
        yield unescape(text[end:]), False


def plain(text: str) -> str:
    """Return marked text as plain text without its symbols."""
    return "".join(part for part, is_symbol in split(text) if not is_symbol)


def reserved_symbols(content: Mapping[str, Any]) -> dict[str, int]:
    """Return the symbols that a ``tokenizer.json`` of ours reserves, with their ids."""
    rule = metaspace(content)
    if rule is None or rule["prepend_scheme"] != "first":
        return {}
    added = [(token["content"], token["id"]) for token in content["added_tokens"] if token["special"]]
    return {name: id for name, id in added if is_symbol(name)}


def metaspace(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the pre-tokenizer that marks the start of a word by "▁", or None."""
    rule = content["pre_tokenizer"] or {}
    if rule.get("type") == "Sequence" and rule["pretokenizers"]:
        rule = rule["pretokenizers"][0]
    return rule if rule.get("type") == "Metaspace" and rule["replacement"] == SPACE else None
