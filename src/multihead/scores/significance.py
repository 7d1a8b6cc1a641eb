"""Is one system better than another, or were the sentences kind to it? Paired bootstrap (Koehn 2004)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.significance import PairedTest, Result

from multihead.scores.bleu import bleu_metric, chrf_metric
from multihead.scores.pairs import check


@dataclass(frozen=True, slots=True)
class Interval:
    """A corpus score, and where 95 % of the resampled scores lie: ``mean`` plus or minus ``half_width``."""

    score: float
    mean: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems in one metric.

    Attributes:
        baseline: the first system.
        system: the second.
        p_value: how often resampling alone makes a difference as large as this one.
        signature: how it was computed.
    """

    baseline: Interval
    system: Interval
    p_value: float
    signature: str

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at the 0.05 level."""
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
        baseline: the first system's translations.
        system: the second's.
        references: what they should be.
        lowercase: compare without case.
        tokenize: BLEU's tokenizer, see ``bleu``.
        samples: resampled corpora; the seed is fixed (sacreBLEU's, 12345 unless SACREBLEU_SEED is set).

    Returns:
        "bleu" and "chrf".

    Raises:
        UserError: no sentences, not as many references, no such tokenizer.
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
    """Compare each system's translations with the first's, as :func:`paired_bootstrap`.

    Returns:
        One for each system, the first included, which does not differ from itself: there only the
        interval tells anything, and a single system may be given for its sake.
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


def _comparison(one: str | Result, other: str | Result, signature: str) -> Comparison:
    baseline, system = _interval(one), _interval(other)
    assert isinstance(other, Result)
    # sacreBLEU counts the resampled differences above the observed one, of which a system against
    # itself has none: without this it would differ significantly.
    p_value = 1.0 if baseline.score == system.score else other.p_value
    assert p_value is not None
    return Comparison(baseline, system, p_value, signature)


def _interval(result: str | Result) -> Interval:
    assert isinstance(result, Result)
    assert result.mean is not None
    assert result.ci is not None
    return Interval(result.score, float(result.mean), float(result.ci))
