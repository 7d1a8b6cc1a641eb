"""The model of a new training: initialised from the seed, or from another run's weights."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.nn.parts.unfilled import Unfilled
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system import randomness
from multihead.training.trainability import refuse_unfit
from multihead.training.unsaved_state import refuse_drawn
from multihead.workflows import model_size
from multihead.workflows.growing import grow_weights


def new_model(recipe: Recipe[Settings], device: torch.device, init_run: Run | None = None) -> nn.Module:
    """Return the recipe's model, initialised from the seed or from another run.

    Raises:
        UserError: the model does not fit into memory; a part of it cannot be trained or saved, or is drawn at
            random and not saved; the other run's weights have other shapes.
    """
    model_size.check(recipe, device)
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
