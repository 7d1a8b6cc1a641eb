"""What a report tells: numbers and texts, before anything is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multihead.attention_maps import Alignment
from multihead.recipe.values import spelled
from multihead.run import Run
from multihead.scores import Comparison, LengthBucket

Event = Mapping[str, Any]
"""A line of metrics.jsonl."""
TOLD = ("data.", "tokenizer.", "model.", "training.")
"""Sections of a recipe that say how a model is made and trained."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run without using it.

    Attributes:
        name: as it was named.
        kind: the model's, one of ``multihead.models``.
        parameters: of the model, shared ones once; None: not known.
        step: updates made.
        seconds: spent in updates; None where nothing was told.
        seconds_an_epoch: mean over the epochs that came to their end; None where none did.
        events: of metrics.jsonl.
        settings: every key of its recipe that says how a model is made and trained.
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
class Measured:
    """One run on one test set.

    Attributes:
        perplexity: of a target piece; not comparable between vocabularies.
        perplexity_character: of a reference character; comparable.
        cased: BLEU and chrF, compared with the first run ("bleu", "chrf").
        lowercase: the same without case.
        by_length: BLEU by the number of words of the source.
        sentences_per_second: of translating.
    """

    perplexity: float
    perplexity_character: float
    cased: Mapping[str, Comparison]
    lowercase: Mapping[str, Comparison]
    by_length: Sequence[LengthBucket]
    sentences_per_second: float


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence, and what each run made of it.

    Attributes:
        number: its line in the test set, from 1.
        chrf: chrF2 of each output by itself.
        alignments: of each run, by words; None where its model has no attention over the source, or where
            the sentence is none of those that are looked at.
    """

    number: int
    source: str
    reference: str
    outputs: Sequence[str]
    chrf: Sequence[float]
    alignments: Sequence[Alignment | None] = ()

    @property
    def spread(self) -> float:
        """How far the best and the worst output are apart; of one run, what is missing to 100."""
        return max(self.chrf) - min(self.chrf) if len(self.chrf) > 1 else 100 - self.chrf[0]


@dataclass(frozen=True, slots=True)
class Looked:
    """A sentence, what a model wrote, and where it looked."""

    source: str
    output: str
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class OnTest:
    """All runs on one test set.

    Attributes:
        name: of the test set.
        pairs: how many sentences it has.
        runs: in the order of the runs.
        examples: where they differ most, these first.
        aligned: a few of them, with alignments.
    """

    name: str
    pairs: int
    runs: Sequence[Measured]
    examples: Sequence[Example]
    aligned: Sequence[Example]


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs side by side.

    Attributes:
        notes: what does not fit, a sentence each.
    """

    runs: Sequence[RunFacts]
    tests: Sequence[OnTest]
    notes: Sequence[str]


def facts(run: Run, name: str, parameters: int | None = None) -> RunFacts:
    """Return what a run folder says of its run."""
    events = list(run.metrics())
    recipe = run.recipe
    updates = [
        event for event in events if event.get("event") == "update" and event.get("seconds") is not None
    ]
    return RunFacts(
        name=name,
        kind=recipe.kind,
        parameters=parameters,
        step=max((event.get("step", 0) for event in events), default=0),
        seconds=updates[-1]["seconds"] if updates else None,
        seconds_an_epoch=_an_epoch(updates),
        events=events,
        settings={key: spelled(value) for key, value in recipe.values().items() if key.startswith(TOLD)},
    )


def _an_epoch(updates: Sequence[Event]) -> float | None:
    """Seconds to the first line after the last whole epoch, by the number of these epochs."""
    whole = updates[-1].get("epoch", 0) if updates else 0
    if not whole:
        return None
    seconds: float = next(event["seconds"] for event in updates if event.get("epoch") == whole)
    return seconds / whole
