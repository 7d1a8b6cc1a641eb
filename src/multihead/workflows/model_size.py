"""The size of a model that is not built yet, against the memory there is.

Without this check the system ends the process without a word, after minutes. A model of another kind than the
recipe's begins with its own defaults, and these are often those of a published model of billions of weights.
"""

import contextlib

import torch

from multihead.errors import UserError
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.system.memory import free_memory

BYTES = {"cpu": 8, "elsewhere": 4}
"""A weight in float32, and its gradient where the model trains in this memory: the least that it takes."""
SIZES = ("vocab_size", "d_model", "d_hidden", "num_layers", "d_ff", "experts")
"""Settings that decide most of a model's size."""


def check(recipe: Recipe[Settings], device: torch.device) -> None:
    """Refuse a model that cannot fit into memory.

    Args:
        recipe: the recipe.
        device: where it is trained; it is built in the processor's memory first.

    Raises:
        UserError: with the memory that it takes at least, the memory that is free, and its sizes.
    """
    count, free = parameters(recipe), free_memory()
    needed = BYTES.get(device.type, BYTES["elsewhere"]) * count
    if not free or needed <= free:
        return
    given = {name: getattr(recipe.model, name, 0) for name in SIZES}
    sizes = ", ".join(f"model.{name} ({size:,})" for name, size in given.items() if size)
    raise UserError(
        f"a {recipe.kind} of these sizes has {count / 1e9:,.1f} billion parameters: they take "
        f"{needed / 1e9:,.0f} GB of memory at least, and {free / 1e9:,.0f} GB are free",
        place="model",
        remedy=f"Set smaller sizes: {sizes}. Another model.kind begins with its own defaults.",
    )


def parameters(recipe: Recipe[Settings]) -> int:
    """Return the number of a model's parameters, without their memory; 0: it must be built to be known."""
    with contextlib.suppress(Exception), torch.device("meta"):  # a model of one's own may need real numbers
        model = model_kinds.load(recipe.kind).Model(recipe.model)
        return sum(parameter.numel() for parameter in model.parameters())
    return 0
