"""Template code in web pages: ERB, EJS, JSP, PHP, Jinja, Liquid, Twig, Handlebars, Vue, Angular."""

import html
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple

from multihead_documents.splice import Span

_FILLER = "\ue000"
"""Stands for a character of template code while a page is parsed: no markup, and no white space."""
_CODE = re.compile(
    r"<%(?:(?!<%).)*?%>"
    r"|<\?(?:php\b|=).*?(?:\?>|\Z)"
    r"|\{%(?:(?!</(?:script|style)|\{%).){1,2000}?%\}"
    r"|\{#(?:(?!</(?:script|style)|\{#).){1,2000}?#\}"
    r"|\{\{!--(?:(?!\{\{!--).){0,2000}?--\}\}"
    r"|\{\{\{?(?:(?!</|\{\{).){1,2000}?\}\}\}?",
    re.DOTALL,
)
"""Each alternative ends where its like begins, so that a search takes linear time."""
_PLACEHOLDER = re.compile(
    r"\{\{(?!!)\{?[^{}\n]{1,200}\}\}\}?|<%=[^%<>\n]{1,200}%>|<\?=[^?<>\n]{1,200}\?>", re.DOTALL
)
_STATEMENT = re.compile(
    r"\{%|\{\{[~\s]*(?:[#/^]|else\b)|<%(?:-(?!-)|[^-=#:%])"
    r"|<\?php.*?(?:[{}]|\b(?:if|else|for|foreach|while|switch|case|end\w+)\b)",
    re.DOTALL,
)


class Code(NamedTuple):
    """A piece of template code.

    A statement divides paragraphs. A placeholder stands for words; a segment spells it in its text. All other
    code, such as a comment, is a tag.
    """

    span: Span
    kind: Literal["statement", "placeholder", "other"]


class Templates:
    """The template code of a page."""

    def __init__(self, text: str) -> None:
        self._codes = [Code(Span(*match.span()), _kind(match[0])) for match in _CODE.finditer(text)]
        self._placeholders = {text[slice(*code.span)] for code in self._codes if code.kind == "placeholder"}

    def mask_code(self, text: str) -> str:
        """Return the page with a filler for each character of its template code."""
        parts: list[str] = []
        done = 0
        for (start, end), _ in self._codes:
            parts += [text[done:start], _FILLER * (end - start)]
            done = end
        return "".join([*parts, text[done:]])

    def within(self, span: Span) -> Iterator[Code]:
        """Yield the code in a part of the page."""
        first = bisect_left(self._codes, span.start, key=lambda code: code.span.start)
        for number in range(first, len(self._codes)):
            if self._codes[number].span.end > span.end:
                return
            yield self._codes[number]

    def escape(self, text: str, quote: str = "") -> str:
        """Escape a translation for HTML; placeholders of the page stay as the page has them.

        Args:
            text: the translation.
            quote: the quotation mark around it.
        """
        if not self._placeholders:
            return _escape(text, quote)
        parts = re.split(f"({_PLACEHOLDER.pattern})", text)
        return "".join(part if part in self._placeholders else _escape(part, quote) for part in parts)


def words(text: str) -> str:
    """Return a text without its placeholders."""
    return _PLACEHOLDER.sub("", text)


def _escape(text: str, quote: str) -> str:
    text = html.escape(text, quote=False).replace("\r", "&#13;")
    return text.replace(quote, "&quot;" if quote == '"' else "&#39;") if quote else text


def _kind(code: str) -> Literal["statement", "placeholder", "other"]:
    if _STATEMENT.match(code):
        return "statement"
    return "placeholder" if _PLACEHOLDER.fullmatch(code) else "other"
