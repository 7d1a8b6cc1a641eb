"""End of an HTML element whose end tag may be omitted."""

from collections import Counter

from multihead_documents.web.elements import BLOCKS, VOID
from multihead_documents.web.tokens import FOREIGN, Token

_CELLS = frozenset(("td", "th", "tr", "tbody", "thead", "tfoot"))
_ROWS = _CELLS - {"td", "th"}
_OPTIONS = frozenset(("option", "optgroup"))
_IMPLIED = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "p": BLOCKS - {"button", "caption", "col", "label", "legend", "td", "th"},
    "td": _CELLS,
    "th": _CELLS,
    "tr": _ROWS,
    "thead": _ROWS - {"tr"},
    "tbody": _ROWS - {"tr"},
    "caption": _CELLS,
    "option": _OPTIONS,
    "optgroup": frozenset({"optgroup"}),
}
"""Start tags that close an element without end tag (HTML Living Standard, sec. 13.1.2.4)."""


class SkippedElement:
    """An untranslated element, with the stack of elements open in it."""

    def __init__(self, start: Token) -> None:
        self.start = start
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        self._walls = 0
        """Number of open elements that no start tag can close, such as a list in an item."""

    def end_with(self, token: Token) -> int | None:
        """Take the next token; return the offset where the element ends, if it ends before or with it."""
        name, foreign = self.start.name, self.start.name in FOREIGN
        if token.kind not in ("start", "end"):
            return None
        if name not in BLOCKS and not foreign and token.name in BLOCKS:
            return token.span.start  # an inline element ends with its paragraph
        if token.kind == "start":
            if not self._walls and token.name in _IMPLIED.get(name, ()):
                return token.span.start
            if token.name not in VOID and not (foreign and token.empty):
                self._open.append(token.name)
                self._count[token.name] += 1
                self._walls += _is_wall(token.name)
            return None
        if self._count[token.name]:
            while True:
                last = self._open.pop()
                self._count[last] -= 1
                self._walls -= _is_wall(last)
                if last == token.name:
                    return None
        if token.name == name:
            return token.span.end
        # The end tag of an ancestor; a stray inline end tag is ignored.
        return token.span.start if token.name in BLOCKS and not foreign else None


def _is_wall(name: str) -> bool:
    return name in BLOCKS and name not in _IMPLIED
