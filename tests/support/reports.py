"""A made-up comparison of two runs, for tests of its page."""

from dataclasses import replace

import numpy as np
from small_translators import HOSTILE

from multihead.inspect.maps import Alignment
from multihead.inspect.maps.tokens import TokenLabel
from multihead.inspect.report import RunComparison, RunFacts, RunScores, TestSetResults, TranslatedExample
from multihead.scores import Comparison, Interval, LengthBucket, Score

FIRST = Interval(31.37, 31.41, 1.13)


def a_comparison() -> RunComparison:
    """Return a comparison of two runs; the second has attention and is better."""
    runs = [_facts("runs/lstm", "seq2seq", 53), _facts("runs/attention", "rnn_attention", 59)]
    examples = [
        TranslatedExample(7, "ein Hund läuft", "a dog runs", ["a cat", "a dog runs"], [23.5, 100.0]),
        TranslatedExample(3, "zwei Katzen", "two cats", ["two cats", "two dogs"], [100.0, 61.25]),
    ]
    aligned = [replace(examples[0], alignments=[None, an_alignment()])]
    measured = [_measured(0), _measured(1)]
    return RunComparison(runs, [TestSetResults("flickr", 211, measured, examples, aligned)], ["a note"])


def hostile_comparison() -> RunComparison:
    """Return a comparison whose names, sentences and words would run a script if they were not escaped."""
    made = a_comparison()
    text = " ".join(HOSTILE)
    example = TranslatedExample(
        1, text, text, [text, "".join(HOSTILE)], [50.0, 25.0], [None, an_alignment(*HOSTILE)]
    )
    test = replace(made.tests[0], name=text, examples=[example], aligned=[example])
    runs = [replace(run, name=f"{run.name}{text}") for run in made.runs]
    return RunComparison(runs, [test], [text])


def an_alignment(*words: str) -> Alignment:
    """Return a diagonal alignment."""
    shown = words or ("ein", "Hund", "läuft")
    tokens = tuple(TokenLabel(text, place) for place, text in enumerate(shown))
    return Alignment(np.eye(len(tokens), dtype=np.float32), tokens, tokens, "how it was made")


def _facts(name: str, kind: str, hidden: int) -> RunFacts:
    events = [
        {"event": "update", "step": 3, "epoch": 0, "rate": 0.1, "seconds": 2.0},
        {"event": "validation", "step": 3, "loss": 3.5},
        {"event": "validation", "step": 6, "loss": 2.5, **({"bleu": 29.0} if kind == "seq2seq" else {})},
    ]
    settings = {"model.d_hidden": str(hidden), "training.steps": "6"}
    return RunFacts(name, kind, 1009 * hidden, 6, 127.0, 61.0, events, settings)


def _measured(number: int) -> RunScores:
    rise, p = 4.2 * number, 0.031 if number else 1.0
    cased = {
        name: Comparison(FIRST, Interval(FIRST.score + rise + more, 0.0, FIRST.half_width), p, f"{name}|v")
        for name, more in (("bleu", 0.0), ("chrf", 20.0))
    }
    lowercase = {"bleu": Comparison(FIRST, Interval(FIRST.score + rise + 1, 0.0, 1.17), p, "lc|v")}
    buckets = [
        LengthBucket(0, 10, 199, Score(33.0 + rise, "v")),
        LengthBucket(11, None, 12, Score(17.0 + rise, "v")),
    ]
    return RunScores(7.5 - number, 1.75 - 0.1 * number, cased, lowercase, buckets, 83.0)
