"""Significance of score differences by paired bootstrap resampling (Koehn 2004)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.significance import PairedTest, Result

from multihead.scores.bleu import bleu_metric, chrf_metric
from multihead.scores.pairs import check


@dataclass(frozen=True, slots=True)
class Interval:
    """A corpus score with its 95 % bootstrap confidence interval, ``mean`` plus or minus ``half_width``."""

    score: float
    mean: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two systems in one metric.

    Attributes:
        baseline: score of the first system.
        system: score of the second system.
        p_value: probability of a difference at least as large under the null hypothesis.
        signature: sacreBLEU's signature.
    """

    baseline: Interval
    system: Interval
    p_value: float
    signature: str

    @property
    def significant(self) -> bool:
        """True if the difference is significant at the 0.05 level."""
        return self.p_value < 0.05


def paired_bootstrap(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    samples: int = 1000,
) -> Mapping[str, Comparison]:
    """Compare two systems' translations of the same sentences by sacreBLEU's paired bootstrap.

    Args:
        baseline: translations of the first system.
        system: translations of the second system.
        references: reference translations.
        lowercase: ignore case.
        tokenize: BLEU's tokenizer, see ``bleu``.
        samples: number of bootstrap samples. Their seed is sacreBLEU's (12345 unless SACREBLEU_SEED is set).

    Returns:
        The comparison in "bleu" and in "chrf".

    Raises:
        UserError: no sentences, another number of references, or an unavailable tokenizer.
    """
    pair = against_first(
        [baseline, system], references, lowercase=lowercase, tokenize=tokenize, samples=samples
    )
    return pair[1]


def against_first(
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    samples: int = 1000,
) -> list[Mapping[str, Comparison]]:
    """Compare each system with the first, as :func:`paired_bootstrap` does.

    Returns:
        One comparison per system. The first system's comparison with itself gives its confidence interval, so
        a single system may be passed.
    """
    for system in systems:
        check(system, references)
    metrics = {"BLEU": bleu_metric(lowercase, tokenize), "chrF2": chrf_metric(lowercase)}
    named: list[tuple[str, Sequence[str]]] = [(str(i), list(system)) for i, system in enumerate(systems)]
    signatures, results = PairedTest(named, metrics, [list(references)], "bs", n_samples=samples)()
    names = {"bleu": "BLEU", "chrf": "chrF2"}
    return [
        {
            name: _comparison(results[theirs][0], results[theirs][i], str(signatures[theirs]))
            for name, theirs in names.items()
        }
        for i in range(len(systems))
    ]


def _comparison(first: str | Result, other: str | Result, signature: str) -> Comparison:
    baseline, system = _interval(first), _interval(other)
    assert isinstance(other, Result)
    # sacreBLEU counts resampled differences above the observed one. A system compared with itself has
    # none, and would appear to differ significantly.
    p_value = 1.0 if baseline.score == system.score else other.p_value
    assert p_value is not None
    return Comparison(baseline, system, p_value, signature)


def _interval(result: str | Result) -> Interval:
    assert isinstance(result, Result)
    assert result.mean is not None
    assert result.ci is not None
    return Interval(result.score, float(result.mean), float(result.ci))
