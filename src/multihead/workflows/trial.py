"""Two recipes, trained briefly; the better one is trained in earnest.

Where the corpus alone does not decide between two choices of pieces, both are tried. They are compared by the
log-probability of the held-out text a character, which does not depend on how the text is split.
"""

import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from multihead.data.prepare import prepare
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.recipe.values import spell_value
from multihead.run import Run
from multihead.tasks.translation.lines import Translator
from multihead.workflows.train import TrainObserver, train

UPDATES = 300
"""Updates of a trial of the suggested recipe; the other's have as many epochs."""
TRIALS = 2 * UPDATES
"""Updates of both trials, about."""
SHORTEST = 50
"""Updates of a trial, at least."""
PAIRS = 500
"""Held-out pairs that a trial is judged by, at most."""
CHOSEN_BY = ("tokenizer.kind", "tokenizer.target_kind", "tokenizer.joint")
"""Settings in which the recipes may differ by choice; others follow from them."""


def settle_alternative(recipe: Recipe[Settings], folder: Path, observer: TrainObserver) -> Recipe[Settings]:
    """Return the recipe, or its alternative if that is better for the corpus.

    A run that exists keeps its choice. Trials are kept beside the run's folder until both have ended, so the
    same command resumes them.

    Args:
        recipe: a suggested recipe.
        folder: the run folder.
        observer: receives the progress.

    Raises:
        UserError: see ``workflows.train``.
        KeyboardInterrupt: a trial was interrupted; its state is saved.
    """
    other = recipe.alternative
    if other is None:
        return recipe
    if Run.exists(folder):
        return other if _choice(Run.open(folder).recipe) == _choice(other) else recipe
    work = folder.with_name(f"{folder.name}.trial")
    losses = [_judge(one, work / str(number), recipe, observer) for number, one in enumerate((recipe, other))]
    better = min(range(2), key=losses.__getitem__)
    shutil.rmtree(work)
    selected = (recipe, other)[better]
    mine, theirs = losses[better], losses[1 - better]
    why = f"after brief trainings of both choices, {mine:.3f} nats a held-out character, against {theirs:.3f}"
    reasons = {key: why for key in CHOSEN_BY if _choice(recipe)[key] != _choice(other)[key]}
    return replace(selected, alternative=None, reasons={**selected.reasons, **reasons})


def typed_differences(recipe: Recipe[Settings]) -> str:
    """Return the choices of the alternative, as they are typed: ``tokenizer.joint false``."""
    assert recipe.alternative is not None
    own, others = _choice(recipe), _choice(recipe.alternative)
    return ", ".join(f"{key} {spell_value(others[key])}" for key in CHOSEN_BY if own[key] != others[key])


def _choice(recipe: Recipe[Settings]) -> dict[str, object]:
    values = recipe.values()
    return {key: values[key] for key in CHOSEN_BY}


def _judge(recipe: Recipe[Settings], folder: Path, first: Recipe[Settings], observer: TrainObserver) -> float:
    """Train a recipe briefly; return the nats for each character of held-out targets.

    Args:
        recipe: the recipe.
        folder: for its run.
        first: the suggested recipe, whose trial has as many epochs.
        observer: receives the progress.
    """
    data = prepare(recipe.data, recipe.tokenizer, progress=observer.on_preparation)
    steps = max(SHORTEST, round(UPDATES * _epoch(recipe) / _epoch(first)))
    training = {"steps": steps, "schedule": "cosine", "warmup_steps": steps // 10, "average": 1}
    once = {"every": steps, "patience": 0, "patience_share": 0.0, "patience_loss": False}
    short = replace(
        recipe,
        training=recipe.training.model_copy(update=training),
        validation=recipe.validation.model_copy(update=once),
    )
    choice = _choice(recipe)
    both = " and ".join(sorted({str(choice[key]) for key in CHOSEN_BY[:2]} - {"same"}))
    kind = f"{both}, {'one vocabulary' if choice['tokenizer.joint'] else 'two vocabularies'}"
    outcome = train(short, folder, _Stage(observer, f"trying {kind}", steps))
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    pairs = data.valid_pairs[:PAIRS]
    scores = [one.log_probability for one in Translator.load(folder).score(pairs)]
    scored = [
        (score, len(target) + 1)
        for score, (_, target) in zip(scores, pairs, strict=True)
        if not math.isnan(score)
    ]
    return -sum(score for score, _ in scored) / max(1, sum(size for _, size in scored))


def _epoch(recipe: Recipe[Settings]) -> float:
    """Estimate the updates of an epoch."""
    tokens = prepare(recipe.data, recipe.tokenizer).train.target_lengths
    batch = float(recipe.training.batch_tokens)
    return max(1.0, (float(tokens.sum()) + len(tokens)) / batch)


class _Stage:
    """An observer that shows a whole training as one stage of preparation."""

    def __init__(self, observer: TrainObserver, name: str, steps: int) -> None:
        self._observer, self._name, self._steps = observer, name, steps

    def on_preparation(self, stage: str, done: int, total: int | None) -> None:
        self._observer.on_preparation(stage, done, total)

    def on_data(self, summary: Sequence[str], tokens_per_epoch: int) -> None:
        pass

    def on_start(self, recipe: Recipe[Settings], model: nn.Module, device: torch.device, step: int) -> None:
        self.on_step(step)

    def on_step(self, step: int) -> None:
        self._observer.on_preparation(self._name, step, self._steps)

    def on_log(self, event: dict[str, Any]) -> None:
        pass

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        pass
