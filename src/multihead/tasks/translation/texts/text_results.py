"""Results of translating texts as people write them."""

from dataclasses import dataclass
from typing import NamedTuple

from multihead.tasks.translation.texts.confidence import LOW
from multihead.text.markup import Markup
from multihead.text.terms import Term


class PlacedTerm(NamedTuple):
    """A term of the glossary in a sentence, and in its translation.

    Attributes:
        source: its place, ``source[start:end]``.
        target: its place in the translation, ``text[start:end]``.
    """

    source: tuple[int, int]
    target: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SentenceTranslation:
    """A sentence of a text, and its translation.

    Attributes:
        source: the sentence without tags.
        text: its translation without tags.
        alternatives: further translations, best first.
        confidence: expected sentence chrF, from 0 to 1, see ``generation.confidence``.
        unplaced: placeholders whose place the model did not decide: they stand where the source has them, or,
            if ``text`` lacks them, nowhere.
        terms: terms of the glossary that it has.
        missing: those that it lacks.
        warnings: notes for people: a loop, an output that was cut, a sentence that was not translated.
        searched: False for a sentence that was copied, or from a memory.
    """

    source: str
    text: str
    alternatives: tuple[str, ...] = ()
    confidence: float = 1.0
    unplaced: tuple[str, ...] = ()
    terms: tuple[PlacedTerm, ...] = ()
    missing: tuple[Term, ...] = ()
    warnings: tuple[str, ...] = ()
    searched: bool = True

    @property
    def doubtful(self) -> bool:
        """True if it should be reviewed."""
        return self.confidence < LOW or bool(self.unplaced or self.missing or self.warnings)


@dataclass(frozen=True, slots=True)
class TextTranslation:
    """A text and its translation.

    Attributes:
        source: the text.
        markup: its translation, with the tags of the source.
        alternatives: further translations, best first; of several sentences, the n-th of each.
        sentences: its sentences in order.
    """

    source: str
    markup: Markup
    alternatives: tuple[str, ...]
    sentences: tuple[SentenceTranslation, ...]

    @property
    def text(self) -> str:
        """The translation."""
        return self.markup.text

    @property
    def confidence(self) -> float:
        """Confidence of the whole: the mean over its sentences, weighted by their length; 1 for none."""
        weights = [len(sentence.source) for sentence in self.sentences]
        total = sum(w * s.confidence for w, s in zip(weights, self.sentences, strict=True))
        return total / sum(weights) if any(weights) else 1.0

    @property
    def unplaced(self) -> tuple[str, ...]:
        """Placeholders whose place the model did not decide, of all sentences."""
        return tuple(one for sentence in self.sentences for one in sentence.unplaced)

    @property
    def missing(self) -> tuple[Term, ...]:
        """Terms that the translation lacks, of all sentences."""
        return tuple(term for sentence in self.sentences for term in sentence.missing)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes for people, of all sentences."""
        return tuple(note for sentence in self.sentences for note in sentence.warnings)

    @property
    def doubtful(self) -> bool:
        """True if any sentence should be reviewed."""
        return any(sentence.doubtful for sentence in self.sentences)

    def __str__(self) -> str:
        return self.text
