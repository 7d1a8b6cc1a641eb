"""Results of text translation."""

from dataclasses import dataclass
from typing import NamedTuple

from multihead.system.notebook import DisplaysAsTable
from multihead.tasks.translation.texts.confidence import LOW
from multihead.text.markup import Markup
from multihead.text.terms import Term


class PlacedTerm(NamedTuple):
    """Places of a glossary term in a sentence and its translation.

    Attributes:
        source: ``source[start:end]``.
        target: ``text[start:end]``.
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
        confidence: expected sentence chrF, from 0 to 1, see ``confidence``.
        unplaced: placeholders that the model did not place: they are at their place in the source, or missing
            in ``text``.
        terms: glossary terms that it has.
        missing: glossary terms that it lacks.
        warnings: notes for people: a loop, a cut output, an untranslated sentence.
        searched: False if the sentence was copied or comes from a memory.
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
class TextTranslation(DisplaysAsTable):
    """A text and its translation.

    Attributes:
        source: the text.
        markup: its translation, with the tags of the source.
        alternatives: further translations, best first; the n-th combines the n-th of each sentence.
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
        """Mean confidence of its sentences, weighted by their length; 1 without sentences."""
        weights = [len(sentence.source) for sentence in self.sentences]
        total = sum(w * s.confidence for w, s in zip(weights, self.sentences, strict=True))
        return total / sum(weights) if any(weights) else 1.0

    @property
    def unplaced(self) -> tuple[str, ...]:
        """Placeholders of all sentences that the model did not place."""
        return tuple(placeholder for sentence in self.sentences for placeholder in sentence.unplaced)

    @property
    def missing(self) -> tuple[Term, ...]:
        """Terms of all sentences that the translation lacks."""
        return tuple(term for sentence in self.sentences for term in sentence.missing)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes for people on all sentences."""
        return tuple(note for sentence in self.sentences for note in sentence.warnings)

    @property
    def doubtful(self) -> bool:
        """True if any sentence should be reviewed."""
        return any(sentence.doubtful for sentence in self.sentences)

    def row(self) -> dict[str, str]:
        """Return the cells by the names of their columns."""
        row = {"Source": self.source, "Translation": self.text, "Confidence": f"{self.confidence:.0%}"}
        return {**row, "Alternatives": "\n".join(self.alternatives), "Note": "\n".join(self.warnings)}

    def __str__(self) -> str:
        return self.text
