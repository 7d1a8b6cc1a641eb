"""Tokenizer training. Deterministic: the same text gives the same tokenizer in every process."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.marked import reserve
from multihead.text.pieces import (
    BYTES,
    alphabet,
    bpe_pieces,
    by_count,
    complete_merges,
    count,
    normalizer,
    script_pre_tokenizer,
    whitespace_pre_tokenizer,
)
from multihead.text.symbols import SPACE, choose_symbols
from multihead.text.tokenizer import SPECIAL_TOKENS, UNKNOWN, Tokenizer
from multihead.text.unigram import unigram_scores

_SEEDS = 2
"""Unigram: size of the seed vocabulary, as a multiple of the final one."""
_MAX_WORD_CHARS = 1000
"""WordPiece: longer words are unknown, because segmentation takes quadratic time."""


def train(texts: Iterable[str], settings: TokenizerSettings, lowercase: bool = False) -> Tokenizer:
    """Train a tokenizer.

    Args:
        texts: sentences. They are held in memory, so pass a sample of a large corpus.
        settings: kind and size of the vocabulary. A small text may give a smaller one; see
            ``Tokenizer.vocab_size``.
        lowercase: make the tokenizer lower-case its input.

    Raises:
        UserError: no text, a vocabulary size too small for the characters of the text, or an unknown symbol.
    """
    reserved = choose_symbols(settings.symbols)
    normal = normalizer(lowercase, settings.apostrophe)
    lines = [line for text in texts if (line := normal.normalize_str(text))]
    if not lines:
        raise UserError("no text to train a tokenizer on", place="tokenizer", remedy="Is the corpus empty?")
    library = _KINDS[settings.kind](_Text(lines, alphabet(lines), settings, reserved))
    library.normalizer = normal
    library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return reserve(Tokenizer(library), reserved)


@dataclass(frozen=True)
class _Text:
    """The training text of a vocabulary, its alphabet, the settings, and the symbols to reserve."""

    lines: Sequence[str]
    characters: Sequence[str]
    settings: TokenizerSettings
    reserved: Sequence[str]

    def room(self, first: Sequence[str], least: int) -> int:
        """Return the vocabulary size left after the ``first`` tokens; refuse less than ``least``."""
        fixed = len(first) + len(self.reserved)
        size, needed = self.settings.vocab_size, fixed + least
        if size < needed:
            fact = f"{size} is too small for {fixed} fixed tokens and at least {least} from the text"
            remedy = f"Set it to at least {needed}."
            raise UserError(fact, place="tokenizer.vocab_size", remedy=remedy)
        return size - fixed

    def bpe_pieces(self, size: int) -> list[str]:
        """Train byte-pair encoding; return its pieces by rank."""
        pre_tokenizer = script_pre_tokenizer(self.settings.split_digits)
        return bpe_pieces(self.lines, self.characters, pre_tokenizer, size, self.settings.min_frequency)


def _bpe(text: _Text) -> Library:
    """Byte-pair encoding with byte fallback, so no character is unknown."""
    first = [*SPECIAL_TOKENS, *BYTES]
    return _bpe_library(first, text.bpe_pieces(text.room(first, len(text.characters))))


def _chars(text: _Text) -> Library:
    """Characters with byte fallback: byte-pair encoding without merges."""
    first = [*SPECIAL_TOKENS, *BYTES]
    text.room(first, len(text.characters))
    return _bpe_library(first, text.characters)


def _bpe_library(first: Sequence[str], pieces: Sequence[str]) -> Library:
    merges = complete_merges(pieces)
    library = Library(models.BPE(_ids(first, pieces), merges, unk_token=UNKNOWN, byte_fallback=True))
    # No piece spans two parts of a word, so splitting at spaces is enough, as in SentencePiece.
    library.pre_tokenizer = whitespace_pre_tokenizer()
    return library


def _wordpiece(text: _Text) -> Library:
    """WordPiece (Wu et al. 2016): greedy longest match. "▁" marks the start of a word, in place of "##"."""
    pieces = text.bpe_pieces(text.room(SPECIAL_TOKENS, len(text.characters)))
    vocabulary = _ids(SPECIAL_TOKENS, pieces)
    model = models.WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=_MAX_WORD_CHARS)
    model.continuing_subword_prefix = ""
    library = Library(model)
    library.pre_tokenizer = script_pre_tokenizer(text.settings.split_digits)
    return library


def _unigram(text: _Text) -> Library:
    """Unigram language model (Kudo 2018) with byte fallback, seeded with BPE pieces."""
    first = [*SPECIAL_TOKENS, *BYTES]
    room = text.room(first, len(text.characters))
    pre_tokenizer = script_pre_tokenizer(text.settings.split_digits)
    scores = unigram_scores(
        count(text.lines, pre_tokenizer), text.bpe_pieces(_SEEDS * room), text.characters, room
    )
    vocabulary = [*((piece, 0.0) for piece in first), *scores]
    library = Library(models.Unigram(vocabulary, unk_id=SPECIAL_TOKENS.index(UNKNOWN), byte_fallback=True))
    # Splitting into parts keeps text from matching the names of the first tokens.
    library.pre_tokenizer = pre_tokenizer
    return library


def _words(text: _Text) -> Library:
    """Whole words and single punctuation marks."""
    return _whole(text, script_pre_tokenizer(text.settings.split_digits, runs=False))


def _space(text: _Text) -> Library:
    """White-space tokens, for text that another tokenizer has split."""
    if text.settings.split_digits:
        fact = 'kind "spaced" does not split words'
        raise UserError(fact, place="tokenizer.split_digits", remedy='Omit it, or choose kind "words".')
    return _whole(text, whitespace_pre_tokenizer())


def _whole(text: _Text, pre_tokenizer: pre_tokenizers.PreTokenizer) -> Library:
    first = [*SPECIAL_TOKENS, SPACE] if text.reserved else SPECIAL_TOKENS
    room = text.room(first, 1)
    counts = count(text.lines, pre_tokenizer)
    words = [word for word in by_count(counts) if counts[word] >= text.settings.min_frequency]
    words = [word for word in words if word not in first]
    library = Library(models.WordLevel(_ids(first, words[:room]), unk_token=UNKNOWN))
    library.pre_tokenizer = pre_tokenizer
    return library


def _ids(first: Sequence[str], pieces: Sequence[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate([*first, *pieces])}


_KINDS: Mapping[str, Callable[[_Text], Library]] = {
    "bpe": _bpe,
    "unigram": _unigram,
    "wordpiece": _wordpiece,
    "chars": _chars,
    "words": _words,
    "spaced": _space,
}
