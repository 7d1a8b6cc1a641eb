"""Text to piece ids and back: a thin shell around the ``tokenizers`` library."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer as Library

from multihead import disk
from multihead.errors import UserError

PAD, UNKNOWN, BEGIN, END = "<pad>", "<unk>", "<s>", "</s>"
CONTROLS = (PAD, UNKNOWN, BEGIN, END)
"""The special symbols of a vocabulary trained here; their ids are their places."""

ONLY = "<|endoftext|>"
"""GPT-2's only special symbol, which serves for all."""
_ALSO_CALLED = {
    PAD: (PAD, "[PAD]", ONLY),
    UNKNOWN: (UNKNOWN, "[UNK]", ONLY),
    # The last: where there is no begin symbol, a decoder begins with padding, as Marian's does.
    BEGIN: (BEGIN, "[CLS]", "<bos>", "[BOS]", ONLY, PAD),
    END: (END, "[SEP]", "<eos>", "[EOS]", ONLY),
}
_WORD_MARKS = ("▁", "Ġ")
"""How a piece says that a word starts with it (Metaspace, byte-level)."""

T = TypeVar("T")


class Piece(NamedTuple):
    """A piece of a text: ``text[start:end]`` is what it stands for, without the space before it."""

    id: int
    text: str
    start: int
    end: int


class Tokenizer:
    """A vocabulary of pieces, and the rules by which text is cut into them.

    Encoding never yields a begin, end or padding id: where such a symbol's name stands in a text, it is
    text. ``decode(encode(text))`` is ``normalize(text)`` wherever nothing was unknown. For tokenizers
    trained here that is: canonical composition (NFC), lower case if asked for, U+2581 taken for a space,
    runs of spaces made one, and spaces at either end dropped. Every other character stays.
    """

    def __init__(self, library: Library, *, place: str = "tokenizer") -> None:
        self._library = library
        vocabulary = library.get_vocab(with_added_tokens=True)
        self.vocab_size = len(vocabulary)
        self._pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        if [vocabulary[piece] for piece in self._pieces] != list(range(self.vocab_size)):
            remedy = "Each id from 0 to the size of the vocabulary must stand for one piece."
            raise UserError("the ids have gaps or repeat", place=place, remedy=remedy)
        self.pad_id = _control(vocabulary, PAD, place)
        self.unk_id = _control(vocabulary, UNKNOWN, place)
        self.bos_id = _control(vocabulary, BEGIN, place)
        self.eos_id = _control(vocabulary, END, place)
        self._silent = {self.pad_id, self.bos_id, self.eos_id}
        self.controls = frozenset({self.unk_id, *self._silent})
        marks = (mark for mark in _WORD_MARKS if any(piece.startswith(mark) for piece in self._pieces))
        self._word_mark = next(marks, "")
        library.no_padding()
        library.no_truncation()
        library.encode_special_tokens = True

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a ``tokenizer.json``, written here or elsewhere.

        Raises:
            UserError: no such file, not a tokenizer, or one without padding, unknown, begin and end symbols
                (where no begin symbol is known, padding is that too).
        """
        try:
            text = disk.content(Path(path)).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise UserError(f"cannot be read ({reason})", place=str(path), remedy="Check the name.") from None
        return cls.from_json(text, place=str(path))

    @classmethod
    def from_json(cls, text: str, *, place: str = "tokenizer") -> Self:
        """Return the tokenizer that ``to_json`` wrote; raises as ``load`` does."""
        try:
            content = json.loads(text)
            for token in content["added_tokens"]:
                token["special"] |= any(token["content"] in names for names in _ALSO_CALLED.values())
            if content["model"].get("dropout"):
                content["model"]["dropout"] = None  # not to be seeded: see ``bpe_dropout``
            library = Library.from_str(json.dumps(content))
            # Some faults show only when something unknown is met.
            library.encode("\U0010fffd a", add_special_tokens=False)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises nothing narrower than Exception; or it panics
            remedy = "A tokenizer.json as the tokenizers library writes it is needed."
            raise UserError(f"not a tokenizer ({error})", place=place, remedy=remedy) from None
        return cls(library, place=place)

    def lowercased(self) -> Self:
        """Return this tokenizer with all text lower-cased first; itself where it does so already."""
        if self.normalize("A") == "a":
            return self
        steps = [{"type": "Lowercase"}, *filter(None, [self.content["normalizer"]])]
        content = {**self.content, "normalizer": {"type": "Sequence", "normalizers": steps}}
        return type(self).from_json(json.dumps(content))

    def save(self, path: str | Path) -> None:
        """Write a ``tokenizer.json``."""
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    def to_json(self) -> str:
        """Return the contents of a ``tokenizer.json``: the same bytes for the same tokenizer."""
        return json.dumps(self.content, ensure_ascii=False, indent=1) + "\n"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that the ids depend on."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def normalize(self, text: str) -> str:
        """Return a text as it is before it is cut."""
        normalizer = self._library.normalizer
        return normalizer.normalize_str(text) if normalizer else text

    def encode(self, text: str) -> list[int]:
        """Return a text's piece ids, without begin and end symbols."""
        return _told(lambda: list(self._library.encode(text, add_special_tokens=False).ids))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return ``encode`` of each text, on all cores."""
        found = _told(lambda: self._library.encode_batch_fast(list(texts), add_special_tokens=False))
        return [encoding.ids for encoding in found]

    def pieces(self, text: str) -> list[Piece]:
        """Return a text's pieces with their places in it.

        The bytes of a character that is not in the vocabulary all have the place of that character.
        """
        found = _told(lambda: self._library.encode(text, add_special_tokens=False))
        placed = []
        for number, piece, (start, end) in zip(found.ids, found.tokens, found.offsets, strict=True):
            spaces = len(text[start:end]) - len(text[start:end].lstrip(" ▁"))
            placed.append(Piece(number, piece, start + spaces, end))
        return placed

    def decode(self, ids: Iterable[int], unknown: Sequence[str] = ()) -> str:
        """Return the text that ids stand for; begin, end and padding are left out.

        Args:
            ids: pieces.
            unknown: words to put in the places of unknown pieces, in order; past the last one "<unk>" stands.
        """
        words = iter(unknown)
        pieces = [
            f"{self._word_mark}{next(words, UNKNOWN)}" if number == self.unk_id else self._pieces[number]
            for number in map(int, ids)
            if number not in self._silent
        ]
        decoder = self._library.decoder
        return _told(lambda: str(decoder.decode(pieces))) if decoder else " ".join(pieces)

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Return ``decode`` of each sequence."""
        return [self.decode(ids) for ids in batch]

    def piece(self, number: int) -> str:
        """Return the piece of an id, as the vocabulary writes it."""
        return self._pieces[number]

    @cached_property
    def word_starts(self) -> npt.NDArray[np.bool_]:
        """For each id of the vocabulary, whether a word starts with it, (V,). Control symbols are words."""
        prefix = self.content["model"].get("continuing_subword_prefix")
        if prefix:
            return np.array([not piece.startswith(prefix) for piece in self._pieces])
        starts = (
            piece.startswith(_WORD_MARKS) or id in self.controls for id, piece in enumerate(self._pieces)
        )
        return np.fromiter(starts, dtype=np.bool_, count=self.vocab_size)

    @cached_property
    def content(self) -> dict[str, Any]:
        """What stands in the ``tokenizer.json``; not to be changed."""
        content: dict[str, Any] = json.loads(self._library.to_str())
        return content

    def words(self, text: str) -> list[str]:
        """Return the normalised text cut into the words within which pieces are looked for."""
        cutter = self._library.pre_tokenizer
        text = self.normalize(text)
        return [word for word, _ in cutter.pre_tokenize_str(text)] if cutter else [text]


def _control(vocabulary: dict[str, int], control: str, place: str) -> int:
    """Return the id of a special symbol, whatever its usual names."""
    for name in _ALSO_CALLED[control]:
        if name in vocabulary:
            return vocabulary[name]
    remedy = "Add it to the tokenizer, or name no file and have one trained."
    raise UserError(f"no symbol {' or '.join(_ALSO_CALLED[control])}", place=place, remedy=remedy)


def _told(use: Callable[[], T]) -> T:
    """Use the library; of a sound tokenizer it takes everything but halves of surrogate pairs."""
    try:
        return use()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except TypeError:
        remedy = "Is it UTF-8 throughout?"
        raise UserError("the text is not valid Unicode", place="input", remedy=remedy) from None
    except BaseException as error:  # a panic inside the library is no Exception
        fact = f"the tokenizer fails on this text ({error})"
        raise UserError(fact, place="tokenizer.json", remedy="Copy the run folder again.") from None
