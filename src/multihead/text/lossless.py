"""Lossless tokenizers for running text: characters, or byte-level BPE (Radford et al. 2019).

Unlike the sentence tokenizers of ``text.training``, they preserve every space and line feed.
"""

import json
from collections.abc import Iterable
from typing import Literal

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from multihead.errors import UserError
from multihead.text.tokenizer import SPECIAL_TOKENS, UNKNOWN, Tokenizer

BYTES = 256


def learn(
    blocks: Iterable[str], kind: Literal["bpe", "chars"], vocab_size: int, min_frequency: int
) -> Tokenizer:
    """Train a tokenizer on blocks of text.

    Args:
        blocks: running text, split anywhere.
        kind: "chars", or "bpe" for byte-level BPE.
        vocab_size: maximum size of the vocabulary, special tokens included.
        min_frequency: minimum count of a pair of tokens to be merged.

    Raises:
        UserError: no text, or a vocabulary too small for its characters or for 256 bytes.
    """
    library = _chars(blocks, vocab_size) if kind == "chars" else _bytes(blocks, vocab_size, min_frequency)
    return Tokenizer(library)


def _chars(blocks: Iterable[str], vocab_size: int) -> Library:
    characters: set[str] = set()
    for block in blocks:
        characters.update(block)
    if not characters:
        raise UserError("no text to train a tokenizer on", place="tokenizer", remedy="Is the file empty?")
    _check_room(len(characters), "characters", vocab_size)
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL_TOKENS, *sorted(characters)])}
    library = Library(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    library.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    library.decoder = decoders.Fuse()
    return library


def _bytes(blocks: Iterable[str], vocab_size: int, min_frequency: int) -> Library:
    _check_room(BYTES, "bytes", vocab_size)
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(SPECIAL_TOKENS),
        min_frequency=min_frequency,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    library.train_from_iterator(blocks, trainer)
    model = json.loads(library.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    # The special tokens come first, as in every vocabulary trained here.
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL_TOKENS, *pieces])}
    trained = Library(models.BPE(vocabulary, [(left, right) for left, right in model["merges"]]))
    trained.pre_tokenizer = library.pre_tokenizer
    trained.decoder = decoders.ByteLevel()
    return trained


def _check_room(count: int, what: str, vocab_size: int) -> None:
    needed = count + len(SPECIAL_TOKENS)
    if vocab_size < needed:
        fact = f"{vocab_size:,} is too small for {count:,} {what} and {len(SPECIAL_TOKENS)} special tokens"
        remedy = f"Set it to at least {needed:,}."
        raise UserError(fact, place="tokenizer.vocab_size", remedy=remedy)


def unknown_characters(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the distinct characters of a text that are not in the vocabulary, in order of appearance."""
    characters = (text[p.start : p.end] for p in tokenizer.pieces(text) if p.id == tokenizer.unk_id)
    return list(dict.fromkeys(characters))
