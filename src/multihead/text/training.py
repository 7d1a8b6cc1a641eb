"""Training a tokenizer from text. The same text gives the same tokenizer, in whatever process."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers

from multihead.errors import UserError
from multihead.settings import TokenizerSettings
from multihead.text.pieces import (
    BYTES,
    alphabet,
    by_count,
    complete_merges,
    count,
    merged,
    normalizer,
    parts,
    spaces,
)
from multihead.text.tokenizer import CONTROLS, UNKNOWN, Tokenizer
from multihead.text.unigram import unigram_scores

_SEEDS = 2
"""Unigram: pieces at the start, as a multiple of those wanted."""
_LONGEST_WORD = 1000
"""WordPiece: words of more characters are unknown (its search takes quadratic time)."""


def train(texts: Iterable[str], settings: TokenizerSettings, lowercase: bool = False) -> Tokenizer:
    """Learn a tokenizer.

    Args:
        texts: sentences; they are held in memory, so pass a sample of a large corpus.
        settings: kind and size of the vocabulary. It ends smaller than asked for where the text has no
            more pieces: compare ``Tokenizer.vocab_size``.
        lowercase: whether the tokenizer lower-cases what it reads.

    Raises:
        UserError: no text, or a vocabulary too small for the text's characters.
    """
    normal = normalizer(lowercase)
    lines = [line for text in texts if (line := normal.normalize_str(text))]
    if not lines:
        raise UserError(
            "no text to learn a vocabulary from", place="tokenizer", remedy="Is the corpus empty?"
        )
    library = _KINDS[settings.kind](_Text(lines, alphabet(lines), settings))
    library.normalizer = normal
    library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return Tokenizer(library)


@dataclass(frozen=True)
class _Text:
    """What a vocabulary is learned from, and how."""

    lines: Sequence[str]
    letters: Sequence[str]
    settings: TokenizerSettings

    def room(self, first: Sequence[str], least: int) -> int:
        """Return how many pieces may be learned besides the ``first``; there must be room for ``least``."""
        size, needed = self.settings.vocab_size, len(first) + least
        if size < needed:
            fact = f"{size} pieces are too few for {len(first)} fixed ones and {least} of the text"
            remedy = f"The least that works here is {needed}."
            raise UserError(fact, place="tokenizer.vocab_size", remedy=remedy)
        return size - len(first)

    def merged(self, size: int) -> list[str]:
        """Return the pieces of byte-pair encoding."""
        cutter = parts(self.settings.split_digits)
        return merged(self.lines, self.letters, cutter, size, self.settings.min_frequency)


def _bpe(text: _Text) -> Library:
    """Byte-pair encoding with all bytes as pieces: nothing is unknown."""
    first = [*CONTROLS, *BYTES]
    return _merging(first, text.merged(text.room(first, len(text.letters))))


def _chars(text: _Text) -> Library:
    """Characters: byte-pair encoding without merges."""
    first = [*CONTROLS, *BYTES]
    text.room(first, len(text.letters))
    return _merging(first, text.letters)


def _merging(first: Sequence[str], pieces: Sequence[str]) -> Library:
    merges = complete_merges(pieces)
    library = Library(models.BPE(_ids(first, pieces), merges, unk_token=UNKNOWN, byte_fallback=True))
    # Pieces do not reach over the parts of a word, so cutting at spaces is enough: what SentencePiece does.
    library.pre_tokenizer = spaces()
    return library


def _wordpiece(text: _Text) -> Library:
    """WordPiece (Wu et al. 2016): the longest piece first. "▁" marks a word's start, which spares "##"."""
    pieces = text.merged(text.room(CONTROLS, len(text.letters)))
    vocabulary = _ids(CONTROLS, pieces)
    model = models.WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=_LONGEST_WORD)
    model.continuing_subword_prefix = ""
    library = Library(model)
    library.pre_tokenizer = parts(text.settings.split_digits)
    return library


def _unigram(text: _Text) -> Library:
    """The likeliest pieces under a unigram model (Kudo 2018), chosen from those of byte-pair encoding."""
    first = [*CONTROLS, *BYTES]
    room = text.room(first, len(text.letters))
    cutter = parts(text.settings.split_digits)
    scores = unigram_scores(count(text.lines, cutter), text.merged(_SEEDS * room), text.letters, room)
    vocabulary = [*((piece, 0.0) for piece in first), *scores]
    library = Library(models.Unigram(vocabulary, unk_id=CONTROLS.index(UNKNOWN), byte_fallback=True))
    # Cut at parts, so that no text ever matches one of the first pieces by its name.
    library.pre_tokenizer = cutter
    return library


def _words(text: _Text) -> Library:
    """Whole words, and every punctuation mark by itself."""
    return _whole(text, parts(text.settings.split_digits, runs=False))


def _spaced(text: _Text) -> Library:
    """Whatever stands between spaces, in text that somebody else's rules have cut."""
    if text.settings.split_digits:
        fact = 'kind "spaced" takes words as they stand'
        raise UserError(fact, place="tokenizer.split_digits", remedy='Leave it out, or take kind "words".')
    return _whole(text, spaces())


def _whole(text: _Text, cutter: pre_tokenizers.PreTokenizer) -> Library:
    room = text.room(CONTROLS, 1)
    counts = count(text.lines, cutter)
    words = [word for word in by_count(counts) if counts[word] >= text.settings.min_frequency]
    library = Library(models.WordLevel(_ids(CONTROLS, words[:room]), unk_token=UNKNOWN))
    library.pre_tokenizer = cutter
    return library


def _ids(first: Sequence[str], pieces: Sequence[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate([*first, *pieces])}


_KINDS: Mapping[str, Callable[[_Text], Library]] = {
    "bpe": _bpe,
    "unigram": _unigram,
    "wordpiece": _wordpiece,
    "chars": _chars,
    "words": _words,
    "spaced": _spaced,
}
