"""Text to token ids and back: a thin wrapper around the ``tokenizers`` library."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer as Library

from multihead.errors import UserError
from multihead.system import disk
from multihead.system.safe_parsing import parse_json
from multihead.text import tokenizer_limits
from multihead.text.symbols import is_symbol, reserved_symbols

PAD, UNKNOWN, BEGIN, END = "<pad>", "<unk>", "<s>", "</s>"
SPECIAL_TOKENS = (PAD, UNKNOWN, BEGIN, END)
"""Special tokens of a vocabulary trained here, in the order of their ids."""

END_OF_TEXT = "<|endoftext|>"
"""GPT-2's only special token, which stands for all four."""
BEGIN_3, END_3 = "<|begin_of_text|>", "<|end_of_text|>"
"""Begin and end token of Llama 3, which has neither padding nor an unknown token."""
ALIASES = {
    PAD: (PAD, "[PAD]", END_OF_TEXT, END_3),
    UNKNOWN: (UNKNOWN, "[UNK]", END_OF_TEXT, END_3),
    # PAD last: without a begin token, a decoder starts from padding, as Marian's does.
    BEGIN: (BEGIN, "[CLS]", "<bos>", "[BOS]", END_OF_TEXT, BEGIN_3, PAD),
    END: (END, "[SEP]", "<eos>", "[EOS]", END_OF_TEXT, END_3),
}
"""Names of the special tokens in the tokenizers of others, in the order of preference."""
_WORD_MARKS = ("▁", "Ġ")
"""Prefixes that mark the start of a word (Metaspace, byte-level)."""

T = TypeVar("T")


class Piece(NamedTuple):
    """A token of a text, and the span ``text[start:end]`` that it covers, without the space before it."""

    id: int
    text: str
    start: int
    end: int


class Tokenizer:
    """A subword vocabulary, and the rules that segment text into it.

    Encoding never yields a begin, end or padding id: the name of a special token in a text is text.
    ``decode(encode(text))`` equals ``normalize(text)`` unless a token is unknown. A tokenizer trained here
    normalises to NFC, and optionally to lower case; U+2581 becomes a space, runs of spaces collapse, and
    spaces at the ends are stripped. All other characters are preserved.

    Attributes:
        symbols: ids of the reserved symbols (``text.symbols``). No text yields them: see ``text.marked``.
    """

    def __init__(self, library: Library, *, place: str = "tokenizer") -> None:
        self._library = library
        vocabulary = library.get_vocab(with_added_tokens=True)
        self.vocab_size = len(vocabulary)
        self._pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        if [vocabulary[piece] for piece in self._pieces] != list(range(self.vocab_size)):
            remedy = "Number the tokens from 0, each with an id of its own."
            raise UserError("the ids have gaps or repeat", place=place, remedy=remedy)
        self.pad_id = _special_id(vocabulary, PAD, place)
        self.unk_id = _special_id(vocabulary, UNKNOWN, place)
        self.bos_id = _special_id(vocabulary, BEGIN, place)
        self.eos_id = _special_id(vocabulary, END, place)
        added = library.get_added_tokens_decoder().values()
        self.symbols = (
            reserved_symbols(self.content) if any(is_symbol(token.content) for token in added) else {}
        )
        self._silent = frozenset((self.pad_id, self.bos_id, self.eos_id, *self.symbols.values()))
        self.special_ids = self._silent | {self.unk_id}
        marks = (mark for mark in _WORD_MARKS if any(piece.startswith(mark) for piece in self._pieces))
        self._word_mark = next(marks, "")
        library.no_padding()
        library.no_truncation()
        library.encode_special_tokens = True

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a ``tokenizer.json`` of the ``tokenizers`` library.

        Raises:
            UserError: no such file, not a tokenizer, or one without a padding, unknown or end token (the
                padding token serves as the begin token if there is none).
        """
        try:
            text = disk.content(Path(path), tokenizer_limits.MAX_BYTES).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise UserError(f"cannot be read ({reason})", place=str(path), remedy="Check the name.") from None
        return cls.from_json(text, place=str(path))

    @classmethod
    def from_json(cls, text: str, *, place: str = "tokenizer") -> Self:
        """Return the tokenizer from the contents of a ``tokenizer.json``; raises as ``load`` does."""
        try:
            limits = tokenizer_limits.MAX_BYTES, tokenizer_limits.MAX_VALUES
            content = parse_json(text, most_bytes=limits[0], values=limits[1])
            tokenizer_limits.check(content)
            content["padding"] = content["truncation"] = None
            for token in content["added_tokens"]:
                token["special"] |= any(token["content"] in names for names in ALIASES.values())
            if content["model"].get("dropout"):
                content["model"]["dropout"] = None  # cannot be seeded; see ``bpe_dropout``
            library = Library.from_str(json.dumps(content))
            # Some defects appear only at the first unknown character.
            library.encode("\U0010fffd a", add_special_tokens=False)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises plain Exception, or panics
            remedy = "Give a tokenizer.json of the tokenizers library."
            raise UserError(f"not a tokenizer ({error})", place=place, remedy=remedy) from None
        return cls(library, place=place)

    def with_lowercasing(self) -> Self:
        """Return the tokenizer with lower-casing in its normaliser; itself if it has that already."""
        if self.normalize("A") == "a":
            return self
        steps = [{"type": "Lowercase"}, *filter(None, [self.content["normalizer"]])]
        content = {**self.content, "normalizer": {"type": "Sequence", "normalizers": steps}}
        return type(self).from_json(json.dumps(content))

    def save(self, path: str | Path) -> None:
        """Write a ``tokenizer.json``."""
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    def to_json(self) -> str:
        """Return the contents of a ``tokenizer.json``, deterministically."""
        return json.dumps(self.content, ensure_ascii=False, indent=1) + "\n"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that the ids depend on."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def normalize(self, text: str) -> str:
        """Return the normalised text, as it is segmented."""
        normal = self._normalize(text)
        return normal.removeprefix(" ") if self.symbols else normal

    def _normalize(self, text: str) -> str:
        normalizer = self._library.normalizer
        return normalizer.normalize_str(text) if normalizer else text

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without begin and end tokens."""
        return _guard(lambda: list(self._library.encode(text, add_special_tokens=False).ids))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return ``encode`` of each text, computed on all cores."""
        encodings = _guard(lambda: self._library.encode_batch_fast(list(texts), add_special_tokens=False))
        return [encoding.ids for encoding in encodings]

    def pieces(self, text: str) -> list[Piece]:
        """Return the tokens of a text with their offsets.

        All byte tokens of a character have the offsets of that character.
        """
        encoding = _guard(lambda: self._library.encode(text, add_special_tokens=False))
        pieces = []
        for number, piece, (start, end) in zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True):
            spaces = len(text[start:end]) - len(text[start:end].lstrip(" ▁"))
            pieces.append(Piece(number, piece, start + spaces, end))
        return pieces

    def decode(self, ids: Iterable[int], unknown: Sequence[str] = ()) -> str:
        """Return the text of token ids; begin, end and padding tokens and reserved symbols are skipped.

        Args:
            ids: token ids.
            unknown: words that replace unknown tokens, in order; once they run out, "<unk>" is used.
        """
        words = iter(unknown)
        pieces = [
            f"{self._word_mark}{next(words, UNKNOWN)}" if number == self.unk_id else self._pieces[number]
            for number in map(int, ids)
            if number not in self._silent
        ]
        decoder = self._library.decoder
        return _guard(lambda: str(decoder.decode(pieces))) if decoder else " ".join(pieces)

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Return ``decode`` of each sequence."""
        return [self.decode(ids) for ids in batch]

    def piece(self, number: int) -> str:
        """Return the token with this id, as the vocabulary spells it."""
        return self._pieces[number]

    @cached_property
    def word_starts(self) -> npt.NDArray[np.bool_]:
        """True for each token that starts a word, (V,). Special tokens count as words."""
        prefix = self.content["model"].get("continuing_subword_prefix")
        if prefix:
            return np.array([not piece.startswith(prefix) for piece in self._pieces])
        starts = (
            piece.startswith(_WORD_MARKS) or id in self.special_ids for id, piece in enumerate(self._pieces)
        )
        return np.fromiter(starts, dtype=np.bool_, count=self.vocab_size)

    @cached_property
    def content(self) -> dict[str, Any]:
        """The parsed ``tokenizer.json``; read only."""
        content: dict[str, Any] = json.loads(self._library.to_str())
        return content

    def words(self, text: str) -> list[str]:
        """Return the normalised text split into words by the pre-tokenizer."""
        pre_tokenizer = self._library.pre_tokenizer
        text = self._normalize(text)
        return [word for word, _ in pre_tokenizer.pre_tokenize_str(text)] if pre_tokenizer else [text]


def _special_id(vocabulary: dict[str, int], token: str, place: str) -> int:
    """Return the id of a special token under any of its names."""
    for name in ALIASES[token]:
        if name in vocabulary:
            return vocabulary[name]
    remedy = "Add it to the tokenizer, or name no file to have one trained."
    raise UserError(f"no token {' or '.join(ALIASES[token])}", place=place, remedy=remedy)


def _guard(call: Callable[[], T]) -> T:
    """Call the library; turn its failures into ``UserError``."""
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except TypeError:
        remedy = "Remove its lone surrogates."
        raise UserError("the text is not valid Unicode", place="input", remedy=remedy) from None
    except BaseException as error:  # a panic in the library is not an Exception
        fact = f"the tokenizer failed on this text ({error})"
        raise UserError(fact, place="tokenizer.json", remedy="Copy the run folder again.") from None
