"""Tokenizers that put language and domain tags before every text (Johnson et al. 2017, sec. 3)."""

from collections.abc import Sequence
from typing import Self

from multihead.errors import UserError
from multihead.text.symbols import SymbolKind, domain, is_symbol, kind, language
from multihead.text.tokenizer import Piece, Tokenizer

OF_A_SOURCE = (SymbolKind.DOMAIN, SymbolKind.ORIGIN)
"""Kinds of symbols that may follow the language tag."""


def tag(name: str, *, place: str = "tags") -> str:
    """Return the symbol of a tag, which may be written without brackets, or as the name of a domain.

    >>> tag("<domain-legal>"), tag("domain-legal"), tag("legal"), tag("bt")
    ('<domain-legal>', '<domain-legal>', '<domain-legal>', '<bt>')

    Raises:
        UserError: a symbol of another kind, or characters not allowed in a tag.
    """
    for symbol in (name, f"<{name}>"):
        if is_symbol(symbol) and kind(symbol) in OF_A_SOURCE:
            return symbol
    if is_symbol(name) or is_symbol(f"<{name}>"):
        fact = f'"{name}" is not a tag of a domain or an origin'
        raise UserError(fact, place=place, remedy='Write "domain-NAME", "bt" or "copy".')
    try:
        return domain(name)
    except UserError as error:
        raise UserError(error.fact, place=place, remedy=error.remedy) from None


def tags_of(target: str, tags: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the symbols before a source: the target language's, then the others."""
    return (language(target), *tags)


class TaggedTokenizer(Tokenizer):
    """A tokenizer whose every text begins with the same reserved symbols; an empty text stays empty.

    The text itself is plain: symbols spelt in it are text. Decoding is the tokenizer's.

    Args:
        tokenizer: a tokenizer that reserves the symbols.
        names: the symbols, in order.

    Raises:
        UserError: the vocabulary lacks one of them.
    """

    names: tuple[str, ...]
    tag_ids: tuple[int, ...]

    def __new__(cls, tokenizer: Tokenizer, names: Sequence[str]) -> Self:
        """Share everything with the tokenizer, which is not read again."""
        view = super().__new__(cls)
        view.__dict__.update(tokenizer.__dict__)
        return view

    def __init__(self, tokenizer: Tokenizer, names: Sequence[str]) -> None:
        self.names = tuple(names)
        for name in names:
            if name not in self.symbols:
                remedy = f"It has {', '.join(self.symbols) or 'none'}."
                raise UserError(f"the vocabulary has no symbol {name}", place="tokenizer", remedy=remedy)
        self.tag_ids = tuple(self.symbols[name] for name in names)

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tags and the text."""
        ids = super().encode(text)
        return [*self.tag_ids, *ids] if ids else ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return ``encode`` of each text."""
        return [[*self.tag_ids, *ids] if ids else ids for ids in super().encode_batch(texts)]

    def pieces(self, text: str) -> list[Piece]:
        """Return the tags, which cover nothing of the text, and its tokens with their offsets."""
        tokens = super().pieces(text)
        tags = [Piece(number, name, 0, 0) for number, name in zip(self.tag_ids, self.names, strict=True)]
        return [*tags, *tokens] if tokens else tokens
