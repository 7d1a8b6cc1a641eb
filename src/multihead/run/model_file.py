"""model.json and model.safetensors: a model's kind and settings, and its weights."""

import importlib
import math
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from multihead.errors import UserError
from multihead.recipe import Recipe, model_kinds, tasks
from multihead.recipe.checking import check_section
from multihead.recipe.layers import Layer
from multihead.recipe.settings import Settings
from multihead.run import tensors
from multihead.run.model_json import FORMAT, origin, read, read_json
from multihead.run.origin import Origin
from multihead.run.sanity_checks import check_numbers

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

__all__ = [
    "FORMAT",
    "check_layers",
    "check_names",
    "check_size",
    "description",
    "load",
    "load_module",
    "modest",
    "origin",
    "read",
    "read_json",
]


def description(recipe: Recipe[Settings], vocabularies: Sequence[int], origin: Origin) -> dict[str, Any]:
    """Return the content of model.json.

    Args:
        recipe: with the model's vocabulary sizes filled in.
        vocabularies: the sizes of the tokenizers that the model goes with: source and target, one, or none.
        origin: the run, and the fingerprints of these tokenizers.
    """
    versions = {name: metadata.version(name) for name in ("multihead", "torch")}
    # The task of a model of this package follows from its kind; one from outside may change.
    task = {"task": recipe.task} if tasks.is_outside(recipe.task) else {}
    return {
        "format": FORMAT,
        "run": origin.run,
        "tokenizers": list(origin.tokenizers),
        "versions": {**versions, **model_kinds.distribution(recipe.kind)},
        "kind": recipe.kind,
        **task,
        "settings": recipe.model.model_dump(mode="json"),
        "vocabularies": list(vocabularies),
    }


def load_module(described: Mapping[str, Any], place: Path) -> ModuleType:
    """Return the module of the model that a model.json describes.

    Raises:
        UserError: there is none, or a Python file that the user has not named; nothing here is executed.
    """
    try:
        return model_kinds.load(described["kind"])
    except UserError as error:
        raise UserError(error.fact, place=error.place or str(place), remedy=error.remedy) from error


def load(
    description_file: Path,
    weights_file: Path,
    device: "torch.device | str",
    *,
    sealed: bool = False,
    prefix: str = "",
) -> "nn.Module":
    """Return the model with its weights, in evaluation mode.

    Args:
        description_file: a model.json.
        weights_file: a model.safetensors.
        device: where the model is to be.
        sealed: whether weights without a SHA-256 are refused; otherwise their numbers are checked.
        prefix: prefix of the weights' names; tensors of other names are left out.

    Raises:
        UserError: a damaged file; a setting out of range; weights that are not this model's, or another
            run's.
    """
    described = read(description_file)
    module = load_module(described, description_file)
    layer = Layer(str(description_file), {})
    values = {key: (value, layer) for key, value in described["settings"].items()}
    settings = check_section("model", {"model": module.Settings}, values)
    with tensors.reading(weights_file) as content:
        content.check(origin(description_file), weights_file, sealed=sealed)
        if not content.seal:
            check_numbers(content.tensors, weights_file)
        weights = {
            name.removeprefix(prefix): weight
            for name, weight in content.tensors.items()
            if name.startswith(prefix)
        }
        check_layers(settings, len(weights), description_file)
        if not modest(settings):
            check_size(module, settings, weights, weights_file)
        try:
            with _import_unfilled().Unfilled():
                model: nn.Module = module.Model(settings)
        except (RuntimeError, MemoryError, TypeError, ValueError, OverflowError) as error:
            fact = f"no model can be made of these settings ({str(error).splitlines()[0]})"
            raise UserError(fact, place=str(description_file)) from None
        check_names(model.state_dict(), weights, weights_file)
        model.load_state_dict(weights)
    return model.to(device).eval()


def _import_unfilled() -> Any:
    """Return ``nn.unfilled``, imported here because only loading a model needs PyTorch."""
    return importlib.import_module("multihead.nn.parts.unfilled")


def check_layers(settings: Settings, weights: int, place: Path) -> None:
    """Refuse settings with more layers than there are weights, before the layers are made.

    Raises:
        UserError: there are.
    """
    layers = max((n for key, n in settings if key.endswith("layers") and isinstance(n, int)), default=0)
    if layers > weights:
        fact = f"{layers:,} layers, but {weights:,} weights"
        raise UserError(fact, place=str(place), remedy="Copy its folder again as a whole.")


MODEST = 1 << 27
"""Elements of the largest matrix that settings without further check can ask for."""


def modest(settings: Settings) -> bool:
    """Return True for settings of which no layer takes much memory, whatever the weights are.

    :func:`check_size` knows exactly, but what it needs of PyTorch takes seconds to import.
    """
    numbers = sorted(abs(value) for _, value in settings if isinstance(value, int))
    layers = max((n for key, n in settings if key.endswith("layers") and isinstance(n, int)), default=1)
    return math.prod(numbers[-2:]) <= MODEST and math.prod(numbers[-2:]) * layers <= 16 * MODEST


MAX_BUFFERS = 1 << 28
"""Elements of the tables that a model computes for itself, such as positions."""


def check_size(module: ModuleType, settings: Settings, weights: "Mapping[str, Tensor]", place: Path) -> None:
    """Refuse weights of other names or shapes than the settings ask for, before memory is taken for them.

    Raises:
        UserError: they differ; the model's own tables would be too large.
    """
    try:
        with _import_unfilled().only_shapes():
            model: nn.Module = module.Model(settings)
    except Exception:
        return  # a model from outside, or settings that are refused where it is made
    if sum(buffer.numel() for buffer in model.buffers()) > MAX_BUFFERS:
        raise UserError(f"its tables have more than {MAX_BUFFERS:,} numbers", place=str(place))
    check_names(model.state_dict(), weights, place)


def check_names(expected: "Mapping[str, Tensor]", weights: "Mapping[str, Tensor]", place: Path) -> None:
    """Refuse weights whose names or shapes are not a model's.

    Raises:
        UserError: the first differences are named.
    """
    missing, foreign = expected.keys() - weights.keys(), weights.keys() - expected.keys()
    faults = [f"no {name}" for name in sorted(missing)] + [f"{name} is unknown" for name in sorted(foreign)]
    for name in sorted(expected.keys() & weights.keys()):
        expected_shape, shape = tuple(expected[name].shape), tuple(weights[name].shape)
        if expected_shape != shape:
            faults.append(f"{name} has shape {shape}, not {expected_shape}")
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise UserError(
            f"these weights are not of the model that model.json describes: {'; '.join(faults[:3])}{more}",
            place=str(place),
            remedy="Copy the run folder again as a whole.",
        )
