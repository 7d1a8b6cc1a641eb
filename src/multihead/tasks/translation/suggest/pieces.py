"""Decides the pieces that text is split into: kind, joint or apart, vocabulary size, BPE-dropout."""

from typing import Literal

from multihead.tasks.translation.suggest.decision import Decision
from multihead.tasks.translation.suggest.profile import CorpusProfile, SideProfile

Kind = Literal["bpe", "chars", "spaced"]

CLOSED_GROWTH = 0.002
"""Up to this probability of a new word, a vocabulary of whole words is complete."""
CLOSED_TYPES, CLOSED_CHARACTERS = 2_000, 10_000
"""Different words of a closed vocabulary: at most, and where nearly all are single characters."""
CLOSED_TIMES = 10
"""Occurrences of a word of a closed vocabulary, on average at least."""
SPELT_WORDS, SPELT_CHARACTERS, SPELT_LONG = 3.0, 24.0, 64
"""Lines that are spelt: mean words and characters of a line, and characters in 99 % of lines, at most."""
UNSPACED_SPELT = 6.0
"""The same for scripts without spaces, of which a line is one word whatever its length."""
STRING_CHARACTERS, STRING_ALPHABET = 200.0, 100
"""Strings without spaces (formulas, sequences) have at most so many characters, and different ones."""
SHARED_LETTERS = 0.2
"""With less overlap of the letters' frequencies, the sides share no pieces worth mentioning."""
CLOSE_LETTERS = (0.1, 0.35)
"""Overlaps at which one vocabulary and two may serve alike."""
CLOSE_SPELT = (2.0, 4.5)
"""Words a line at which characters and subwords may serve alike, if lines are ``CLOSE_CHARACTERS`` long."""
CLOSE_CHARACTERS = (12.0, 36.0)
SPELT_ALIKE, ALIKE_LONG = 0.3, 128
"""Overlap of the letters' frequencies from which on a source belongs to a spelt target letter by letter, and
characters of 99 % of the sources, at most."""
NEAR, NEAR_LONG = 0.8, 300
"""Mean similarity of sources and targets, as of misspelt and right text, from which on characters serve them
better than subwords (results/made-tasks.json); characters of 99 % of their lines, at most."""
ONE_TO_ONE = 0.1
"""Symbols of one side and characters of the other belong together one by one if their numbers differ by so
much at most."""
SHARED_WORDS = 0.5
"""Closed vocabularies are joint if this share of the target's words occur in the source."""

APOSTROPHE_TIMES, APOSTROPHE_SHARE, OTHER_APOSTROPHES = 10, 0.9, 0.02
"""One kind of apostrophe stands for all if the source has so many, and this share of them is that kind; and
if no more of the target's differ, where one vocabulary serves both sides."""

CONTROL, CONTROL_AND_BYTES = 4, 260
"""Pieces that every vocabulary has: control symbols; all bytes too but for WordPiece's and whole words."""


def decide_kind(side: SideProfile) -> Decision[Kind]:
    """Decide the kind of tokenizer that suits one side."""
    types, often = len(side.types), side.words / max(1, len(side.types))
    most = CLOSED_CHARACTERS if side.single_share > 0.9 else CLOSED_TYPES
    if side.growth <= CLOSED_GROWTH and types <= most and often >= CLOSED_TIMES:
        return Decision(
            "spaced",
            f"symbols between spaces, of a closed set: {types:,} different ones, each {often:,.0f} times",
        )
    most_characters = UNSPACED_SPELT if side.unspaced else SPELT_CHARACTERS
    short = side.line_characters <= most_characters and side.long_line <= SPELT_LONG
    if short and side.line_words <= SPELT_WORDS:
        return Decision(
            "chars",
            f"short lines, spelt: {side.line_characters:.1f} characters and {side.line_words:.1f} words a "
            f"line, and {side.growth:.0%} of the words are new",
        )
    string = side.line_words < 1.05 and side.line_characters <= STRING_CHARACTERS and not side.unspaced
    if string and len(side.characters) <= STRING_ALPHABET:
        return Decision("chars", f"strings without spaces, of {len(side.characters)} different characters")
    return Decision(
        "bpe",
        f"running text: {side.line_words:.1f} words a line, and {side.growth:.1%} of the words are new",
    )


def decide_kinds(corpus: CorpusProfile) -> tuple[Decision[Kind], Decision[Kind]]:
    """Decide the kinds of tokenizers of both sides.

    Whether a line without spaces is a name or a sentence of Japanese or Thai, the other side tells.
    """
    source, target = decide_kind(corpus.source), decide_kind(corpus.target)
    if target.value == "chars" and _may_be_spelt(corpus.source):
        source = Decision("chars", "a script without spaces, in strings whose other side is spelt")
    if source.value == "chars" and _may_be_spelt(corpus.target):
        target = Decision("chars", "a script without spaces, in strings whose other side is spelt")
    if target.value == "spaced" and _has_a_symbol_for_each_character(corpus.target, corpus.source):
        source = Decision("chars", "a script without spaces, with a symbol of the other side a character")
    if source.value == "spaced" and _has_a_symbol_for_each_character(corpus.source, corpus.target):
        target = Decision("chars", "a script without spaces, with a symbol of the other side a character")
    if target.value == "chars" and source.value == "bpe" and _is_spelt_alike(corpus):
        source = Decision("chars", "the other side is spelt in the same letters")
    if is_near(corpus):
        near = f"the sides hardly differ: {corpus.similarity:.0%} alike, so most letters are copied"
        source = target = Decision("chars", near)
    return source, target


def _is_spelt_alike(corpus: CorpusProfile) -> bool:
    """Return True for short sources in the letters of their targets, such as a lemma with tags."""
    letters = any(map(str.isalpha, corpus.target.characters))
    short = corpus.source.long_line <= ALIKE_LONG and not corpus.source.unspaced
    return letters and short and corpus.shared_letters >= SPELT_ALIKE


def is_near(corpus: CorpusProfile) -> bool:
    """Return True for running text on both sides that hardly differs."""
    sides = corpus.source, corpus.target
    text = all(decide_kind(side).value == "bpe" for side in sides)
    return text and corpus.similarity >= NEAR and max(side.long_line for side in sides) <= NEAR_LONG


def _has_a_symbol_for_each_character(symbols: SideProfile, text: SideProfile) -> bool:
    """Return True if ``text`` is of a script without spaces, and ``symbols`` has as many as it characters."""
    characters = text.characters.total()
    return text.unspaced and abs(symbols.words - characters) <= ONE_TO_ONE * characters


def _may_be_spelt(side: SideProfile) -> bool:
    """Return True for short lines of one word of a script without spaces, with few characters."""
    short = side.line_characters <= SPELT_CHARACTERS and side.long_line <= SPELT_LONG
    strings = side.line_words < 1.05 and len(side.characters) <= STRING_ALPHABET
    return side.unspaced and short and strings and decide_kind(side).value == "bpe"


def joint(corpus: CorpusProfile, kinds: tuple[str, str]) -> Decision[bool]:
    """Decide whether both sides share one vocabulary."""
    if kinds[0] != kinds[1]:
        return Decision(False, "the two sides are of different kinds")
    if kinds[0] in ("spaced", "words"):
        share = corpus.shared_words
        together = share >= SHARED_WORDS
        return Decision(together, f"{share:.0%} of the target's symbols occur in the source")
    together = corpus.shared_letters >= SHARED_LETTERS
    return Decision(together, f"the letters of the two sides overlap by {corpus.shared_letters:.0%}")


def apostrophe(corpus: CorpusProfile, *, joint: bool) -> Decision[str]:
    """Decide the character that stands for every kind of apostrophe inside a word; "": each stays.

    Users type the apostrophe of their keyboard, whatever the corpus was written with.
    """
    counts = corpus.source.apostrophes
    total = counts.total()
    if total < APOSTROPHE_TIMES:
        return Decision("", "")
    usual, times = counts.most_common(1)[0]
    if times < APOSTROPHE_SHARE * total:
        return Decision("", "the source has several kinds of apostrophes, and training meets each of them")
    others = corpus.target.apostrophes
    if joint and others.total() - others[usual] > OTHER_APOSTROPHES * others.total():
        return Decision("", "the two sides have different kinds of apostrophes and one vocabulary")
    return Decision(
        usual,
        f"{times / total:.0%} of the source's apostrophes are U+{ord(usual):04X}: others are read as it",
    )


def other_kind(side: SideProfile) -> Kind | None:
    """Return the kind that may suit one side as well as the decided one; None: the decision is clear."""
    kind = decide_kind(side).value
    low, high = CLOSE_CHARACTERS
    between = low <= side.line_characters <= high and CLOSE_SPELT[0] <= side.line_words <= CLOSE_SPELT[1]
    if kind == "spaced" or side.unspaced or not between:
        return None
    return "bpe" if kind == "chars" else "chars"


def joint_is_close(corpus: CorpusProfile, kinds: tuple[str, str]) -> bool:
    """Return True if one vocabulary and two may serve alike."""
    low, high = CLOSE_LETTERS
    return (
        kinds[0] == kinds[1] and kinds[0] not in ("spaced", "words") and low <= corpus.shared_letters <= high
    )


def vocab_size(corpus: CorpusProfile, side: int, kind: str, wished: int) -> Decision[int]:
    """Decide the size of a vocabulary.

    Args:
        corpus: the corpus.
        side: 0 the source, 1 the target, 2 both.
        kind: of the tokenizer.
        wished: size that suits a corpus of this size, if it has the words.
    """
    characters, parts = corpus.alphabets[side], corpus.parts[side]
    if kind in ("spaced", "words"):
        sides = (corpus.source, corpus.target)
        words: set[str] = set().union(
            *(one.types for one in (sides if side == 2 else sides[side : side + 1]))
        )
        closed = all(one.growth <= CLOSED_GROWTH for one in (sides if side == 2 else sides[side : side + 1]))
        size = CONTROL + 1 + len(words)
        return Decision(
            size if closed else min(size, wished), f"room for {size - CONTROL - 1:,} different words"
        )
    fixed = CONTROL if kind == "wordpiece" else CONTROL_AND_BYTES
    chosen = (corpus.source, corpus.target)[side : side + 1] or (corpus.source, corpus.target)
    all_characters = 1 + len(set().union(*(one.characters for one in chosen)))
    if kind == "chars":
        return Decision(
            fixed + all_characters,
            f"room for {all_characters:,} different characters, and bytes for others",
        )
    subwords = subword_vocab_size(kind, characters, parts, wished)
    # Which characters are rare depends on what is held out, so there is room for all of them.
    return Decision(
        max(subwords, fixed + all_characters),
        f"{characters:,} characters, and {parts:,} different words to make pieces of",
    )


def subword_vocab_size(kind: str, characters: int, words: int, wished: int) -> int:
    """Return a vocabulary size that covers every frequent character and that the corpus can fill.

    Every word can become a piece; half of them are counted on, for some are held out, and if all words are
    pieces, nothing is learned from their parts. Scripts of many characters get room for words too.
    """
    letters = (CONTROL if kind == "wordpiece" else CONTROL_AND_BYTES) + characters
    return letters + min(max(wished - letters, wished // 2), words // 2)


def decide_dropout(kinds: tuple[str, str], suited: float, *, formal: bool = False) -> Decision[float]:
    """Decide BPE-dropout, which suits small corpora of prose and plain BPE only."""
    if "bpe" not in kinds:
        return Decision(0.0, "only BPE has merges to leave out")
    if formal:
        return Decision(0.0, "a formal language has few words, each of them frequent")
    return Decision(
        suited, "BPE-dropout shows a small corpus each word in several ways" if suited else "a large corpus"
    )
