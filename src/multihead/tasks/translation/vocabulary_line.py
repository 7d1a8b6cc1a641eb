"""The vocabularies of a translator in a line of the summary of its data."""

from collections.abc import Sequence

from multihead.recipe.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer

UP_TO_A_SIZE = ("bpe", "unigram", "wordpiece")
"""Kinds that have as many pieces as were asked for, unless the corpus has fewer."""


def vocabulary_line(tokenizers: Sequence[Tokenizer], settings: TokenizerSettings) -> str:
    """Return their sizes, and the sizes asked for where the corpus has fewer pieces."""
    names = ["source", "target"] if len(tokenizers) > 1 else ["shared"]
    parts = []
    for name, tokenizer, own in zip(names, tokenizers, (settings, settings.target), strict=False):
        fewer = own.kind in UP_TO_A_SIZE and not own.file and tokenizer.vocab_size < own.vocab_size
        most = f" (of at most {own.vocab_size:,})" if fewer else ""
        parts.append(f"{tokenizer.vocab_size:,}{most}" + (f" {name}" if len(tokenizers) > 1 else ""))
    return f"vocabulary: {', '.join(parts)} tokens" + (", shared" if len(tokenizers) == 1 else "")
