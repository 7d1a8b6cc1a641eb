"""A tokenizer of marked texts, in which reserved symbols occur (``text.symbols``)."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self

from tokenizers import Tokenizer as Library

from multihead.text import symbols
from multihead.text.marked import MarkedTokenizer
from multihead.text.tokenizer import Piece, Tokenizer


class MarkedView(Tokenizer):
    """A tokenizer that encodes and decodes marked text; see ``MarkedTokenizer``.

    The tags of a ``TaggedTokenizer`` are kept before each text.

    Args:
        tokenizer: a tokenizer that reserves symbols.
    """

    tag_ids: tuple[int, ...]

    def __new__(cls, tokenizer: Tokenizer) -> Self:
        """Share everything with the tokenizer, which is not read again."""
        view = super().__new__(cls)
        view.__dict__.update(tokenizer.__dict__)
        return view

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._marked = _marked_tokenizer(self._library)
        self.tag_ids = getattr(tokenizer, "tag_ids", ())

    def encode(self, text: str) -> list[int]:
        """Return the ids of marked text. Raises as ``MarkedTokenizer.encode_batch`` does."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return ``encode`` of each text."""
        return [[*self.tag_ids, *ids] if ids else ids for ids in self._marked.encode_batch(texts)]

    def decode(self, ids: Iterable[int], unknown: Sequence[str] = ()) -> str:
        """Return ids as marked text; symbols never replace unknown tokens."""
        return self._marked.decode(ids, ["" if symbols.is_symbol(word) else word for word in unknown])

    def normalize(self, text: str) -> str:
        """Return marked text normalised, as it is segmented."""
        return self._marked.normalize(text)

    def pieces(self, text: str) -> list[Piece]:
        """Return the tokens of marked text; their offsets are exact unless the text has escapes."""
        ids, pieces, end = self.encode(text), [], 0
        for number in ids:
            label = self.piece(number)
            spelling = label.strip(symbols.SPACE)
            start = text.find(spelling, end) if spelling and number not in self.tag_ids else end
            start = end if start < 0 else start
            end = start + len(spelling) if text.startswith(spelling, start) else start
            pieces.append(Piece(number, label, start, end))
        return pieces


@lru_cache(64)
def _marked_tokenizer(library: Library) -> MarkedTokenizer:
    """Return the tokenizer of marked text; kept, since a server makes a view for every request."""
    return MarkedTokenizer(Tokenizer(library))
