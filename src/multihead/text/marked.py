"""Reserves symbols in tokenizers; encodes and decodes marked text.

Symbols follow all other tokens of a vocabulary, whose ids do not change. Around a symbol,
text is segmented as SentencePiece does around a user-defined one: a space before it, or the start of the
text, is a token of its own, "▁", and text after it without a space continues a word. A ``tokenizer.json``
with symbols says so. The tokenizers library by itself reads marked text alike, except that it knows no
escapes, and that a symbol at the very start needs a space before it.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from multihead.errors import UserError
from multihead.text import symbols
from multihead.text.pieces import STRIP
from multihead.text.symbols import SPACE
from multihead.text.tokenizer import Tokenizer

STRIP_RIGHT, NO_STRIP = r" \z", r"\A\z"
"""Patterns of spaces to strip in place of ``STRIP``: the last, and none."""

Part = tuple[str, bool]
"""A part of marked text, and whether it is a symbol."""


def reserve(tokenizer: Tokenizer, names: Sequence[str]) -> Tokenizer:
    """Return the tokenizer with these symbols in its vocabulary; itself if it has them all.

    Raises:
        UserError: the tokenizer marks spaces differently from those trained by multihead.
    """
    missing = [name for name in names if name not in tokenizer.symbols]
    if not missing:
        return tokenizer
    content = json.loads(tokenizer.to_json())
    metaspace = symbols.metaspace(content)
    ours = metaspace is not None and content["normalizer"] and metaspace["prepend_scheme"] == "always"
    if metaspace is None or not (ours or tokenizer.symbols):
        fact = "only a tokenizer trained by multihead can reserve symbols"
        remedy = "Leave tokenizer.symbols empty, or have a tokenizer trained."
        raise UserError(fact, place="tokenizer.symbols", remedy=remedy)
    if not tokenizer.symbols:
        # Symbols split the text, and only its start starts a word; a first space stays, which says the same.
        metaspace["prepend_scheme"] = "first"
        content["normalizer"] = _stripping(content["normalizer"], STRIP_RIGHT)
    vocabulary = content["model"]["vocab"]
    entries = dict(vocabulary)
    for name in (SPACE, *missing):
        if name not in entries and isinstance(vocabulary, dict):
            vocabulary[name] = len(vocabulary)
        elif name not in entries:
            vocabulary.append([name, 0.0])
    ids = {name: number for number, (name, _) in enumerate(_rank(vocabulary))}
    content["added_tokens"] += [_add(ids[name], name) for name in missing]
    return Tokenizer.from_json(json.dumps(content))


def _rank(vocabulary: Any) -> list[tuple[str, float]]:
    """Return the entries of a vocabulary by id."""
    return (
        sorted(vocabulary.items(), key=lambda item: item[1]) if isinstance(vocabulary, dict) else vocabulary
    )


def _add(number: int, name: str) -> dict[str, Any]:
    """Return a symbol as an ``added_tokens`` entry, for other programs that read a ``tokenizer.json``.

    ``normalized`` splits text at it after normalisation, so that the spaces around it are still there.
    """
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": True}
    return {"id": number, "content": name, **flags}


class MarkedTokenizer:
    """Encodes and decodes marked text, in which reserved symbols occur (see ``text.symbols``).

    ``decode(encode(text))`` equals ``normalize(text)`` unless a token is unknown. Plain text keeps its ids:
    ``encode(symbols.escape(text)) == tokenizer.encode(text)``. Tokenizers of kind "words" and "spaced" know
    few words without a space before them: put spaces around symbols there.

    Args:
        tokenizer: a tokenizer that reserves symbols; if it has none, only text without symbols is accepted.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._names = {number: name for name, number in tokenizer.symbols.items()}
        self._silent = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
        self._inside = _inside(tokenizer) if self._names else None

    def encode(self, text: str) -> list[int]:
        """Return the ids of marked text, without begin and end symbols; raises as ``encode_batch`` does."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return ``encode`` of each text, on all cores.

        Raises:
            UserError: a symbol that the vocabulary does not reserve; text that is not valid Unicode.
        """
        rows = [self._parts(text) for text in texts]
        flat = [part for parts in rows for part, is_symbol in parts if not is_symbol]
        encoded = iter((self._inside or self.tokenizer).encode_batch(flat))
        numbers = self.tokenizer.symbols
        return [
            [id for part, is_symbol in parts for id in ([numbers[part]] if is_symbol else next(encoded))]
            for parts in rows
        ]

    def decode(self, ids: Iterable[int], unknown: Sequence[str] = ()) -> str:
        """Return ids as marked text; begin, end and padding are left out.

        Args:
            ids: tokens.
            unknown: words for the places of unknown tokens, as in ``Tokenizer.decode``.
        """
        words = list(unknown)
        parts: list[str] = []
        spoken = (id for id in map(int, ids) if id not in self._silent)
        for is_symbol, group in groupby(spoken, key=self._names.__contains__):
            run = list(group)
            if is_symbol:
                parts += [self._names[id] for id in run]
                continue
            first = not parts
            # Decoding drops the space that the first word of a text starts with.
            space = "" if first or not self.tokenizer.word_starts[run[0]] else " "
            parts.append(symbols.escape(space + self.tokenizer.decode(run, words)))
            del words[: run.count(self.tokenizer.unk_id)]
        return "".join(parts)

    def normalize(self, text: str) -> str:
        """Return marked text normalised outside of symbols, as it is segmented.

        Raises:
            UserError: a symbol that the vocabulary does not reserve.
        """
        normal = (self._inside or self.tokenizer).normalize
        parts = (part if is_symbol else symbols.escape(normal(part)) for part, is_symbol in self._parts(text))
        return "".join(parts).removeprefix(" ")

    def _parts(self, text: str) -> list[Part]:
        """Return the parts of marked text, without spaces at its ends, and with one before its first word."""
        parts = list(symbols.split(text))
        for part, is_symbol in parts:
            if is_symbol and part not in self.tokenizer.symbols:
                remedy = "Train with it in tokenizer.symbols; write a backslash after its < if it is text."
                raise UserError(f"the vocabulary has no symbol {part}", place="tokenizer", remedy=remedy)
        if self._inside is None:
            return parts
        edges = " " + SPACE
        if parts and not parts[-1][1]:
            parts[-1] = parts[-1][0].rstrip(edges), False
        if parts and not parts[0][1]:
            parts[0] = parts[0][0].lstrip(edges), False
        if parts and not parts[0][1]:
            parts[0] = " " + parts[0][0], False
        elif parts:
            parts.insert(0, (" ", False))
        empty = parts == [(" ", False)]
        return [part for part in parts if part[0] and not empty]


def _inside(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer for parts of a text, whose ends are not ends of the text."""
    content = json.loads(tokenizer.to_json())
    metaspace = symbols.metaspace(content)
    assert metaspace is not None
    metaspace["prepend_scheme"] = "never"
    content["normalizer"] = _stripping(content["normalizer"], NO_STRIP)
    return Tokenizer.from_json(json.dumps(content))


def _stripping(normalizer: dict[str, Any], pattern: str) -> dict[str, Any]:
    """Return a normaliser that strips spaces by this pattern from the ends of a text."""
    if normalizer.get("pattern") in ({"Regex": STRIP}, {"Regex": STRIP_RIGHT}):
        return {**normalizer, "pattern": {"Regex": pattern}}
    steps = [_stripping(step, pattern) for step in normalizer.get("normalizers", [])]
    return {**normalizer, "normalizers": steps} if steps else normalizer
