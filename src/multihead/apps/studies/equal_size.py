"""Settings that give another model about as many parameters as a recipe's Transformer."""

import math
from collections.abc import Mapping
from typing import Any

from torch import nn

from multihead.nn.parts.unfilled import only_shapes
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.tasks.translation.suggest import OTHER_MODELS_RATE_FACTOR, model_settings

STEP = 8
"""Step between candidate widths."""


def settings_of_equal_size(base: Recipe[Settings], kind: str) -> Mapping[str, object]:
    """Return settings, by dotted key, for a model of about the same size as a recipe's.

    Both vocabularies are assumed to have ``tokenizer.vocab_size`` tokens.

    Args:
        base: the recipe of a Transformer.
        kind: kind of the other model, a translator. A kind without suggested settings keeps its defaults.

    Raises:
        UserError: there is no such model.
    """
    like: Any = base.model
    if kind == base.kind or not model_settings(kind, like.d_model, like.num_layers, like.dropout):
        return {}
    target = parameters(base.kind, base.model, base.tokenizer.vocab_size)

    def distance(width: int) -> float:
        return abs(math.log(parameters(kind, sized(width), base.tokenizer.vocab_size) / target))

    def sized(width: int) -> Settings:
        values = model_settings(kind, width, like.num_layers, like.dropout)
        settings: Settings = model_kinds.load(kind).Settings.model_validate(values)
        return settings

    width = min(range(STEP, 2 * like.d_model, STEP), key=distance)
    best = model_settings(kind, width, like.num_layers, like.dropout)
    return {
        **{f"model.{key}": value for key, value in best.items()},
        "training.learning_rate": base.training.learning_rate * OTHER_MODELS_RATE_FACTOR,
    }


def parameters(kind: str, settings: Settings, vocabulary: int) -> int:
    """Return the number of parameters of a model with these settings and a vocabulary of this size."""
    sizes = {"source_vocab": vocabulary, "target_vocab": vocabulary}
    with only_shapes():
        model: nn.Module = model_kinds.load(kind).Model(settings.model_copy(update=sizes))
    return sum(parameter.numel() for parameter in model.parameters())
