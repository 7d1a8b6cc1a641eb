"""The model of a new training: initialised from the seed, or from another run's weights."""

import contextlib
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.nn.parts.unfilled import Unfilled
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system import randomness
from multihead.system.memory import free_memory
from multihead.training.trainability import refuse_unfit
from multihead.training.unsaved_state import refuse_drawn

BYTES = {"cpu": 8, "elsewhere": 4}
"""A weight in float32, and its gradient where the model trains in this memory: the least that it takes."""
SIZES = ("vocab_size", "d_model", "d_hidden", "num_layers", "d_ff", "experts")
"""Settings that decide most of a model's size."""


def new_model(recipe: Recipe[Settings], device: torch.device, init_run: Run | None = None) -> nn.Module:
    """Return the recipe's model, initialised from the seed or from another run.

    Raises:
        UserError: the model does not fit into memory; a part of it cannot be trained or saved, or is drawn at
            random and not saved; the other run's weights have other shapes.
    """
    refuse_too_large(recipe, device)
    with randomness.at(recipe.training.seed, "initialise"):
        model: nn.Module = model_kinds.load(recipe.kind).Model(recipe.model)
    refuse_unfit(model)
    with randomness.at(recipe.training.seed, "load"), Unfilled():
        refuse_drawn(model, model_kinds.load(recipe.kind).Model(recipe.model))
    if init_run:
        trained = init_run.load_model().state_dict()
        # A model may accept a part of another model's weights and keep its own for the rest.
        if hasattr(model, "taken_from"):
            trained = {**model.state_dict(), **model.taken_from(trained)}  # type: ignore[operator]
        sizes = [getattr(of.model, "target_vocab", 0) for of in (init_run.recipe, recipe)]
        if sizes[0] < sizes[1]:  # the same tokenizer, with more reserved symbols
            trained = grow_weights(trained, model.state_dict(), *sizes)
        there, here = (_shapes(weights) for weights in (trained, model.state_dict()))
        if there != here:
            name = next(name for name in {**there, **here} if there.get(name) != here.get(name))
            shapes = f"{name}: {there.get(name, 'missing')}, here {here.get(name, 'missing')}"
            raise UserError(
                f"its weights do not fit this recipe's model ({shapes})",
                place=str(init_run.folder),
                remedy="Use the same [model] settings, or leave the recipe out to take the run's own.",
            )
        model.load_state_dict(trained)
    return model.to(device)


def _shapes(weights: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in weights.items()}


def size_of(model: nn.Module) -> int:
    """Return the number of a model's parameters; shared ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


# --- its size -----------------------------------------------------------------------------------------


def refuse_too_large(recipe: Recipe[Settings], device: torch.device) -> None:
    """Refuse a model that cannot fit into memory, before it is built.

    Without this check the system ends the process without a word, after minutes. A model of another kind than
    the recipe's begins with its own defaults: often those of a published model of billions of weights.

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
    settings = {name: getattr(recipe.model, name, 0) for name in SIZES}
    sizes = ", ".join(f"model.{name} ({size:,})" for name, size in settings.items() if size)
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


# --- a larger vocabulary -------------------------------------------------------------------------------


def grow_weights(
    trained: Mapping[str, Tensor], fresh: Mapping[str, Tensor], old: int, new: int
) -> dict[str, Tensor]:
    """Return the trained weights, extended by the fresh model's rows for new tokens.

    Args:
        trained: weights of the trained model.
        fresh: weights of a newly initialised model.
        old: size of the trained model's vocabulary; its ids are the first of the new one.
        new: size of the fresh model's vocabulary.

    Returns:
        The weights. Axes of ``old`` that are ``new`` in the fresh model have grown, as the rows of embeddings
        do; weights that differ in another size too are unchanged.
    """
    grown = {}
    for name, weight in trained.items():
        other = fresh.get(name)
        if other is not None and _grows(weight, other, old, new):
            larger = other.clone()
            larger[tuple(slice(size) for size in weight.shape)] = weight
            weight = larger
        grown[name] = weight
    return grown


def _grows(weight: Tensor, other: Tensor, old: int, new: int) -> bool:
    if weight.ndim != other.ndim or weight.shape == other.shape:
        return False
    sizes = zip(weight.shape, other.shape, strict=True)
    return all(here == there or (here, there) == (old, new) for here, there in sizes)
