"""What a translator hands back."""

from collections.abc import Sequence
from dataclasses import dataclass

from multihead.search.hypotheses import Hypothesis


@dataclass(frozen=True, slots=True)
class Output:
    """One of the outputs found for a line.

    Attributes:
        text: what it says.
        tokens: its pieces as ids of the target vocabulary, a forced prefix included.
        score: ``log_probability`` over the length penalty; outputs are sorted by it.
        log_probability: natural logarithm, of what was not forced, end symbol included.
        cut: it was made to end; the model would have gone on.
    """

    text: str
    tokens: tuple[int, ...]
    score: float
    log_probability: float
    cut: bool

    @classmethod
    def of(cls, hypothesis: Hypothesis, text: str) -> "Output":
        """Return a hypothesis with the text that its tokens stand for."""
        h = hypothesis
        return cls(text, h.tokens, h.score, h.log_probability, cut=not h.finished)


@dataclass(frozen=True, slots=True)
class Translation:
    """A line and its translation.

    Attributes:
        text: the best output; empty for an empty line, and for one that could not be translated.
        source: the line.
        hypotheses: the outputs found, best first; none where nothing was searched.
        note: what the reader should know: the line was too long, the output was cut; None: nothing.
    """

    text: str
    source: str
    hypotheses: tuple[Output, ...] = ()
    note: str | None = None

    @classmethod
    def of(cls, line: str, outputs: Sequence[Output]) -> "Translation":
        """Return a line with the outputs found for it, best first."""
        best = outputs[0]
        note = f"the translation was cut after {len(best.tokens):,} pieces" if best.cut else None
        return cls(best.text, line, tuple(outputs), note)


@dataclass(frozen=True, slots=True)
class PairScore:
    """How likely a given translation is.

    Attributes:
        log_probability: of the whole target, end symbol included; natural logarithm. NaN: not scored.
        token_log_probabilities: of each target piece and the end symbol; they sum to it.
        note: why the pair was not scored; None: it was.
    """

    log_probability: float
    token_log_probabilities: tuple[float, ...]
    note: str | None = None
