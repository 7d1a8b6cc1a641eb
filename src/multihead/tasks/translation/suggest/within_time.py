"""Settings that suit a training whose time is limited: what it can learn in so many passes over the corpus.

With few passes nothing is learned by heart, so that little is left out at random, and a wider model learns
more from each; a small batch gives more updates; the learning rate rises quickly; few validations leave the
time to the training.
"""

from collections.abc import Mapping
from typing import Any

from multihead.tasks.translation.suggest.decision import Decision

ENOUGH = 1_200
"""Updates from which on larger batches pay, and a wider model."""
SMALLEST = 1024
"""Target tokens of a batch, at least."""
WARM_UP = 7
"""The learning rate rises during a share of the updates: 1 / 7 at most."""
FEW, SOME = 10, 30
"""Passes over the corpus: so few that nothing is left out; so few that validations are rare. At 15
passes over 29,000 captions, leaving out is better (results/few-passes.json)."""
LARGE, FEW_OF_LARGE = 1_000_000, 20
"""Target tokens from which on a corpus is learned by heart later, and its few passes; not compared alone."""
WIDE: Mapping[str, int] = {"model.d_model": 256, "model.d_ff": 512, "model.num_layers": 3}
"""Shape of a Transformer for some passes."""
WORTH = 0.6
"""Share of the narrow model's updates that a wider one must make in the same time. With three quarters of
them it learns more; with 43 and 56 %, on a busy machine, it learned less (results/few-passes.json)."""
WIDE_RATE = 0.7
"""Its learning rate, relative to that of a model of half the width."""
LEAST = 5
"""Passes below which a deeper model of this width is taken to learn less, as each update takes longer: an
analogy to the narrower shapes, which were measured (results/few-passes.json)."""
COOL_DOWN, FAST_RATE = 0.6, 1.6
"""Of a training of few passes: the cool-down, relative to the updates before it; the learning rate, relative
to that of a long training."""


def is_narrow(settings: Mapping[str, Any], affordable: float, epoch: float) -> bool:
    """Return whether a wider model may learn more in the time; for arguments see ``within``."""
    return 0 < settings.get("model.d_model", 0) < WIDE["model.d_model"] and affordable / epoch < SOME


def is_worth_its_time(affordable: float, wide_affordable: float) -> bool:
    """Return whether a wider model makes enough updates, given the tokens that the time is enough for."""
    return wide_affordable >= max(WORTH * affordable, ENOUGH * SMALLEST)


def within(
    settings: Mapping[str, Any], affordable: float, epoch: float, *, widen: bool = False
) -> dict[str, Decision[object]]:
    """Return the settings that differ from those of a training without a limit.

    Args:
        settings: those of such a training, by dotted key.
        affordable: target tokens that the time is enough for; with ``widen``, for the wider model.
        epoch: target tokens of a pass over the corpus.
        widen: take the wider model.
    """
    batch = int(settings["training.batch_tokens"])
    while batch > SMALLEST and affordable / batch < ENOUGH:
        batch //= 2
    updates, passes = max(1, int(affordable / batch)), affordable / epoch
    reason = f"the time is enough for about {updates:,} updates, {passes:.1f} passes over the corpus"
    decisions: dict[str, Decision[object]] = {}
    if batch < settings["training.batch_tokens"]:
        decisions["training.batch_tokens"] = Decision(batch, reason)
    if (warm := max(1, updates // WARM_UP)) < settings["training.warmup_steps"]:
        decisions["training.warmup_steps"] = Decision(warm, reason)
    if passes < SOME:
        validations = max(2, int(passes / 3))
        every = max(int(settings["validation.every"]), updates // validations)
        decisions["validation.every"] = Decision(every, f"{validations} validations within the time")
    rate = float(settings["training.learning_rate"])
    width = settings.get("model.d_model", 0)
    if widen:
        decisions |= {key: Decision(value, reason) for key, value in WIDE.items()}
        rate = round(WIDE_RATE * rate, 6)
        decisions["training.learning_rate"] = Decision(rate, "")
    elif width == WIDE["model.d_model"] and passes < LEAST:
        decisions |= {key: Decision(value, reason) for key, value in WIDE.items()}
    if passes < (FEW_OF_LARGE if epoch >= LARGE else FEW):
        decisions["tokenizer.dropout"] = Decision(0.0, "few epochs: BPE-dropout would slow learning")
        decisions["model.dropout"] = Decision(
            min(0.1, float(settings.get("model.dropout", 0.1))), "little is learned by heart in so few passes"
        )
        decisions["training.cooldown"] = Decision(COOL_DOWN, "")
        decisions["training.learning_rate"] = Decision(round(FAST_RATE * rate, 6), "")
        decisions["validation.max_examples"] = Decision(
            300, "few validation pairs leave the time to the training"
        )
    return {key: decision for key, decision in decisions.items() if decision.value != settings.get(key)}
