"""JSON export of a comparison of runs."""

import math
from dataclasses import asdict
from typing import Any

from multihead.inspect.report import RunComparison, RunScores
from multihead.scores import Comparison, LengthBucket


def to_dict(compared: RunComparison) -> dict[str, Any]:
    """Return all scores and outputs as a JSON object."""
    return {
        "runs": [
            {
                "run": run.name,
                "model": run.kind,
                "parameters": run.parameters,
                "updates": run.step,
                "seconds": run.seconds,
                "seconds_an_epoch": run.seconds_an_epoch,
            }
            for run in compared.runs
        ],
        "tests": {
            test.name: {
                "pairs": test.pairs,
                "scores": {
                    run.name: _numbers(scores) for run, scores in zip(compared.runs, test.runs, strict=True)
                },
                "sentences": [
                    {
                        "line": example.number,
                        "source": example.source,
                        "reference": example.reference,
                        "outputs": list(example.outputs),
                        "chrf": [round(value, 2) for value in example.chrf],
                    }
                    for example in test.examples
                ],
            }
            for test in compared.tests
        },
        "notes": list(compared.notes),
    }


def _numbers(scores: RunScores) -> dict[str, Any]:
    return {
        "perplexity": _finite(scores.perplexity),
        "perplexity_character": _finite(scores.perplexity_character),
        "bleu": _interval(scores.cased["bleu"]),
        "bleu_lowercase": _interval(scores.lowercase["bleu"]),
        "chrf": _interval(scores.cased["chrf"]),
        "sentences_per_second": round(scores.sentences_per_second, 1),
        "bleu_by_length": [_bucket(bucket) for bucket in scores.by_length],
    }


def _interval(comparison: Comparison) -> dict[str, Any]:
    return {**asdict(comparison.system), "p_value": comparison.p_value, "signature": comparison.signature}


def _bucket(bucket: LengthBucket) -> dict[str, Any]:
    return {
        "shortest": bucket.shortest,
        "longest": bucket.longest,
        "sentences": bucket.sentences,
        "bleu": bucket.bleu.value,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
