"""Tokenizers that lose nothing of a text: characters, or byte-pair encoding of bytes (Radford et al. 2019).

Unlike those of ``text.training``, which are made for sentences, they keep every space and line feed.
"""

import json
from collections.abc import Iterable
from typing import Literal

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from multihead.errors import UserError
from multihead.text.tokenizer import CONTROLS, UNKNOWN, Tokenizer

BYTES = 256


def learn(
    blocks: Iterable[str], kind: Literal["bpe", "chars"], vocab_size: int, min_frequency: int
) -> Tokenizer:
    """Learn a tokenizer from blocks of text.

    Args:
        blocks: running text, cut anywhere.
        kind: "chars", or "bpe".
        vocab_size: most tokens, control symbols included.
        min_frequency: how often two tokens must meet in order to be merged.

    Raises:
        UserError: no text; more characters, or bytes, than the vocabulary has room for.
    """
    library = _chars(blocks, vocab_size) if kind == "chars" else _bytes(blocks, vocab_size, min_frequency)
    return Tokenizer(library)


def _chars(blocks: Iterable[str], vocab_size: int) -> Library:
    letters: set[str] = set()
    for block in blocks:
        letters.update(block)
    if not letters:
        raise UserError("no text to learn a vocabulary from", place="tokenizer", remedy="Is the file empty?")
    _check_room(len(letters), "characters", vocab_size)
    vocabulary = {piece: number for number, piece in enumerate([*CONTROLS, *sorted(letters)])}
    library = Library(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    library.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    library.decoder = decoders.Fuse()
    return library


def _bytes(blocks: Iterable[str], vocab_size: int, min_frequency: int) -> Library:
    _check_room(BYTES, "bytes", vocab_size)
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(CONTROLS),
        min_frequency=min_frequency,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    library.train_from_iterator(blocks, trainer)
    model = json.loads(library.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    # The control symbols come first, as in every vocabulary that is learned here.
    vocabulary = {piece: number for number, piece in enumerate([*CONTROLS, *pieces])}
    made = Library(models.BPE(vocabulary, [(left, right) for left, right in model["merges"]]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


def _check_room(count: int, what: str, vocab_size: int) -> None:
    needed = count + len(CONTROLS)
    if vocab_size < needed:
        fact = f"{vocab_size:,} tokens are too few for {count:,} {what} and {len(CONTROLS)} control symbols"
        remedy = f"The least that works here is {needed:,}."
        raise UserError(fact, place="tokenizer.vocab_size", remedy=remedy)


def unknown_characters(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the characters of a text that the tokenizer has no token for, each once, in order."""
    found = (text[p.start : p.end] for p in tokenizer.pieces(text) if p.id == tokenizer.unk_id)
    return list(dict.fromkeys(found))
