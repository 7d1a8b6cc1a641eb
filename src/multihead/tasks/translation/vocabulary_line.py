"""The vocabulary line in the data summary of a translator."""

from collections.abc import Sequence

from multihead.recipe.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer

UP_TO_A_SIZE = ("bpe", "unigram", "wordpiece")
"""Kinds with the requested number of pieces, unless the corpus has fewer."""


def vocabulary_line(tokenizers: Sequence[Tokenizer], settings: TokenizerSettings) -> str:
    """Return the vocabulary sizes; if the corpus has fewer pieces than requested, also the requested size."""
    names = ["source", "target"] if len(tokenizers) > 1 else ["shared"]
    parts = []
    for name, tokenizer, side in zip(names, tokenizers, (settings, settings.target), strict=False):
        fewer = side.kind in UP_TO_A_SIZE and not side.file and tokenizer.vocab_size < side.vocab_size
        most = f" (of at most {side.vocab_size:,})" if fewer else ""
        parts.append(f"{tokenizer.vocab_size:,}{most}" + (f" {name}" if len(tokenizers) > 1 else ""))
    return f"vocabulary: {', '.join(parts)} tokens" + (", shared" if len(tokenizers) == 1 else "")
