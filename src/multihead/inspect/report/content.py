"""Content of reports: metrics, scores and texts, independent of their layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multihead.inspect.maps import Alignment
from multihead.recipe.values import spell_value
from multihead.run import Run
from multihead.scores import Comparison, LengthBucket
from multihead.system import plugins

Event = Mapping[str, Any]
"""A line of metrics.jsonl."""
SECTIONS = ("data.", "tokenizer.", "model.", "training.")
"""Sections of a recipe that define a model and its training."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts read from a run folder without loading the model.

    Attributes:
        name: name given by the user.
        kind: kind of the model, one of ``multihead.models``.
        parameters: number of parameters, counting shared parameters once; None: unknown.
        step: number of updates.
        seconds: time spent in updates; None if it was not logged.
        seconds_an_epoch: mean time of a complete epoch; None before the first ends.
        events: the events of metrics.jsonl.
        settings: the recipe's keys in ``SECTIONS``, with their values as text.
    """

    name: str
    kind: str
    parameters: int | None
    step: int
    seconds: float | None
    seconds_an_epoch: float | None
    events: Sequence[Event]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunScores:
    """Scores of one run on one test set.

    Attributes:
        perplexity: perplexity per target token; not comparable between vocabularies.
        perplexity_character: perplexity per reference character; comparable between vocabularies.
        cased: BLEU and chrF compared with the first run, under "bleu" and "chrf".
        lowercase: the same comparisons, lower-cased.
        by_length: BLEU by source length in words.
        sentences_per_second: translation speed.
    """

    perplexity: float
    perplexity_character: float
    cased: Mapping[str, Comparison]
    lowercase: Mapping[str, Comparison]
    by_length: Sequence[LengthBucket]
    sentences_per_second: float


@dataclass(frozen=True, slots=True)
class TranslatedExample:
    """A sentence with the translation of each run.

    Attributes:
        number: line in the test set, from 1.
        chrf: sentence-level chrF2 of each output.
        alignments: word alignment of each run; None if its model has no cross-attention or the sentence was
            not selected for alignment.
    """

    number: int
    source: str
    reference: str
    outputs: Sequence[str]
    chrf: Sequence[float]
    alignments: Sequence[Alignment | None] = ()

    @property
    def spread(self) -> float:
        """Difference between the best and the worst chrF; with one run, its distance from 100."""
        return max(self.chrf) - min(self.chrf) if len(self.chrf) > 1 else 100 - self.chrf[0]


@dataclass(frozen=True, slots=True)
class AlignedSentence:
    """A source sentence with its translation and their alignment."""

    source: str
    output: str
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class TestSetResults:
    """Results of all runs on one test set.

    Attributes:
        name: name of the test set.
        pairs: number of sentence pairs.
        runs: scores, in the order of the runs.
        examples: sentences on which the runs differ most, largest difference first.
        aligned: a few of these examples, with alignments.
    """

    name: str
    pairs: int
    runs: Sequence[RunScores]
    examples: Sequence[TranslatedExample]
    aligned: Sequence[TranslatedExample]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Comparison of several runs.

    Attributes:
        runs: facts of each run.
        tests: results on each test set.
        notes: warnings, such as folders that were skipped, one sentence each.
    """

    runs: Sequence[RunFacts]
    tests: Sequence[TestSetResults]
    notes: Sequence[str]


def facts(run: Run, name: str, parameters: int | None = None) -> RunFacts:
    """Read the facts of a run from its folder."""
    events = list(run.metrics())
    recipe = run.recipe
    updates = [
        event for event in events if event.get("event") == "update" and event.get("seconds") is not None
    ]
    return RunFacts(
        name=name,
        kind=plugins.display_name(recipe.kind),
        parameters=parameters,
        step=max((event.get("step", 0) for event in events), default=0),
        seconds=updates[-1]["seconds"] if updates else None,
        seconds_an_epoch=_seconds_an_epoch(updates),
        events=events,
        settings={
            key: spell_value(value) for key, value in recipe.values().items() if key.startswith(SECTIONS)
        },
    )


def _seconds_an_epoch(updates: Sequence[Event]) -> float | None:
    """Divide the time of the first event after the last complete epoch by the number of epochs."""
    epochs = updates[-1].get("epoch", 0) if updates else 0
    if not epochs:
        return None
    seconds: float = next(event["seconds"] for event in updates if event.get("epoch") == epochs)
    return seconds / epochs
