"""Results of a translator: translations, their hypotheses, scores of given pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

from multihead.search.outputs import Hypothesis
from multihead.system.notebook import DisplaysAsTable


@dataclass(frozen=True, slots=True)
class Output:
    """One hypothesis for a line.

    Attributes:
        text: the detokenised text.
        tokens: token ids of the target vocabulary, a forced prefix included.
        score: ``log_probability`` divided by the length penalty; hypotheses are sorted by it.
        log_probability: natural logarithm; the end symbol counts, a forced prefix does not.
        cut: whether it reached the length limit before the end symbol.
    """

    text: str
    tokens: tuple[int, ...]
    score: float
    log_probability: float
    cut: bool

    @classmethod
    def of(cls, hypothesis: Hypothesis, text: str) -> "Output":
        """Return a search hypothesis with its detokenised text."""
        h = hypothesis
        return cls(text, h.tokens, h.score, h.log_probability, cut=not h.finished)


@dataclass(frozen=True, slots=True)
class Translation(DisplaysAsTable):
    """A line and its translation.

    Attributes:
        text: the best hypothesis; empty if the line is empty or could not be translated.
        source: the line.
        hypotheses: hypotheses, best first; empty without a search.
        note: a warning, e.g. that the line was too long or the output cut; None: no warning.
    """

    text: str
    source: str
    hypotheses: tuple[Output, ...] = ()
    note: str | None = None

    @classmethod
    def of(cls, line: str, outputs: Sequence[Output]) -> "Translation":
        """Return a line with its hypotheses, best first; without any, no output had the required phrases."""
        if not outputs:
            return cls("", line, note="no translation contains all that it must")
        best = outputs[0]
        note = f"the translation was cut after {len(best.tokens):,} tokens" if best.cut else None
        return cls(best.text, line, tuple(outputs), note)

    def row(self) -> dict[str, str]:
        """Return the cells by the names of their columns."""
        others = "\n".join(output.text for output in self.hypotheses[1:])
        score = f"{self.hypotheses[0].score:.2f}" if self.hypotheses else ""
        row = {"Source": self.source, "Translation": self.text, "Score": score}
        return {**row, "Alternatives": others, "Note": self.note or ""}


@dataclass(frozen=True, slots=True)
class PairScore:
    """The log-probability of a given translation.

    Attributes:
        log_probability: natural logarithm for the whole target, end symbol included; NaN: not scored.
        token_log_probabilities: for each target token and the end symbol; their sum is ``log_probability``.
        note: the reason why the pair was not scored; None: it was scored.
    """

    log_probability: float
    token_log_probabilities: tuple[float, ...]
    note: str | None = None
