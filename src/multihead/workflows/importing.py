"""From a folder as the transformers library writes it to a run folder: weights, settings, vocabulary."""

import importlib
import json
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from multihead import models
from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.run import Run, files, model_file, tensors
from multihead.run.environment import environment, file_hashes
from multihead.settings import Settings
from multihead.text.tokenizer import Tokenizer
from multihead.workflows import foreign
from multihead.workflows.foreign._folder import CONFIG, Folder

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
MALFORMED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What code meets that takes numbers for texts, lists for tables, or vectors for matrices."""
VOCABULARIES = ("vocab_size", "source_vocab", "target_vocab")


class Imported(NamedTuple):
    """What came of a folder.

    Attributes:
        run: with everything in it.
        lacks: the part of the model that the folder did not have and fine-tuning has to make; "": none.
    """

    run: Run
    lacks: str


def import_folder(path: Path, run_folder: Path) -> Imported:
    """Make a run folder of a local folder with config.json, model.safetensors and what else the model needs.

    Args:
        path: what to read; nothing is fetched.
        run_folder: new.

    Raises:
        UserError: a file is missing, damaged or a pickle; a model that is not known here, or not as the
            transformers library writes it; weights that are not of the model that config.json describes; a
            vocabulary that does not go with it.
    """
    folder = Folder.open(path)
    kind = _kind(folder)
    try:
        paths = _weight_files(folder)
        settings = kind.settings(folder)
        theirs = _weights(paths)
        ours: dict[str, Tensor] = kind.weights(theirs, folder)
    except KeyError as error:
        fact = f"{error} is missing, which a {folder.config['model_type']} has"
        raise UserError(fact, place=str(path), remedy="Is it the whole model, as it was saved?") from None
    except MALFORMED as error:
        raise _malformed(folder, error) from error
    tokenizers = _tokenizers(kind, folder)
    name = path.resolve().name.lstrip(".") or "imported"
    recipe = recipes.from_toml("", overrides={"name": name, "model.kind": kind.KIND, **settings})
    _check_vocabularies(tokenizers, recipe, path)
    _check_weights(ours, recipe, folder)
    read = [path / CONFIG, *paths, *(path / name for name in kind.FILES if folder.has(name))]
    data = {"files": file_hashes(read), "fingerprint": "imported"}
    files.make_folder(run_folder.parent)
    with Run.create(run_folder, recipe, tokenizers, environment(data)) as run:
        weights = {name: weight.float().contiguous() for name, weight in ours.items()}
        run.save_model(weights, {"weights": "imported"})
    return Imported(run, kind.lacks(theirs))


def known() -> list[str]:
    """Return the ``model_type`` of every model that can be imported."""
    names = (module.name for module in pkgutil.iter_modules(foreign.__path__))
    return sorted(name for name in names if not name.startswith("_"))


def _kind(folder: Folder) -> ModuleType:
    name = folder.config.get("model_type")
    if name not in known():
        raise folder.refuse(f"model_type is {json.dumps(name)}, and known are {', '.join(known())}")
    return importlib.import_module(f"{foreign.__name__}.{name}")


def _tokenizers(kind: ModuleType, folder: Folder) -> Sequence[Tokenizer]:
    try:
        found: Sequence[Tokenizer] = kind.tokenizers(folder)
    except MALFORMED as error:
        raise _malformed(folder, error) from error
    return found


def _malformed(folder: Folder, error: Exception) -> UserError:
    told = " ".join(str(error).split()) or type(error).__name__
    fact = f"not a {folder.config['model_type']} as the transformers library writes it ({told})"
    return UserError(fact, place=str(folder.path), remedy="Are its files as they were saved?")


def _weight_files(folder: Folder) -> list[Path]:
    if folder.has(INDEX):
        names = sorted({str(name) for name in folder.json(INDEX).get("weight_map", {}).values()})
        if names and all(Path(name).name == name for name in names):
            return [folder.path / name for name in names]
        raise folder.refuse("names no files of this folder", name=INDEX)
    if folder.has(WEIGHTS):
        return [folder.path / WEIGHTS]
    pickles = sorted(file.name for pattern in PICKLES for file in folder.path.glob(pattern))
    if pickles:
        # By its own class: an "AutoModel" would leave the head out.
        own = next(iter(folder.config.get("architectures") or ()), "AutoModel")
        convert = f"transformers.{own}.from_pretrained(DIR).save_pretrained(NEW)"
        raise UserError(
            f"{pickles[0]} is a pickle, which can run any program when it is read; there is no {WEIGHTS}",
            place=str(folder.path),
            remedy=f"Convert it where you trust it: {convert}.",
        )
    raise UserError(f"there is no {WEIGHTS}", place=str(folder.path))


def _weights(paths: list[Path]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for path in paths:
        found |= tensors.load(path)[0]
    return found


def _check_vocabularies(tokenizers: Sequence[Tokenizer], recipe: Recipe[Settings], folder: Path) -> None:
    """Refuse more pieces than the model has rows; fewer are common, where rows were added for speed."""
    sizes = [int(size) for key in VOCABULARIES if (size := getattr(recipe.model, key, None)) is not None]
    for tokenizer in tokenizers:
        if tokenizer.vocab_size > min(sizes):
            fact = f"its tokenizer has {tokenizer.vocab_size:,} pieces, but the model has {min(sizes):,}"
            raise UserError(fact, place=str(folder))


def _check_weights(ours: Mapping[str, Tensor], recipe: Recipe[Settings], folder: Folder) -> None:
    model_file.check_layers(recipe.model, len(ours), folder.path / CONFIG)
    try:
        with torch.device("meta"):
            model = models.load(recipe.kind).Model(recipe.model)
    except MALFORMED as error:
        raise _malformed(folder, error) from error
    wanted = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    found = {name: tuple(weight.shape) for name, weight in ours.items()}
    if wanted != found:
        odd = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))[0]
        raise UserError(
            f"the weights are not of the model that {CONFIG} describes "
            f"({odd}: {found.get(odd, 'missing')}, not {wanted.get(odd, 'known')})",
            place=str(folder.path),
        )
