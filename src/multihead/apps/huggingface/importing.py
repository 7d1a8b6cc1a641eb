"""Import of Hugging Face model folders as run folders: weights, settings, vocabulary."""

import importlib
import json
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from torch import Tensor

from multihead import recipe as recipes
from multihead.apps.huggingface import foreign
from multihead.apps.huggingface.foreign._folder import CONFIG, Folder
from multihead.errors import UserError
from multihead.nn.parts.unfilled import only_shapes
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.run import Run, files, model_file, tensors
from multihead.run.environment import environment, file_hashes
from multihead.text.tokenizer import Tokenizer

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
MALFORMED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors from malformed files: a number for a string, a list for a table, a vector for a matrix."""
VOCABULARIES = ("vocab_size", "source_vocab", "target_vocab")


class Imported(NamedTuple):
    """An imported run.

    Attributes:
        run: the new run.
        missing: the part of the model that the folder lacks and fine-tuning must train; "": none.
    """

    run: Run
    missing: str


def import_folder(path: Path, run_folder: Path, *, name: str = "") -> Imported:
    """Create a run folder from a local folder with config.json, model.safetensors and a tokenizer.

    Args:
        path: the folder to import; nothing is downloaded.
        run_folder: the new run folder.
        name: of the recipe; "": the folder's.

    Raises:
        UserError: a file is missing, damaged or a pickle; an unsupported model type or setting; weights that
            do not match config.json; a vocabulary that does not fit the model.
    """
    folder = Folder.open(path)
    kind = _kind(folder)
    try:
        paths = _weight_files(folder)
        settings = kind.settings(folder)
        theirs = {name: weight for file in paths for name, weight in tensors.load(file)[0].items()}
        ours: dict[str, Tensor] = kind.weights(theirs, folder)
    except KeyError as error:
        fact = f"{error} is missing, which every {folder.config['model_type']} model has"
        raise UserError(fact, place=str(path), remedy="Save the complete model again.") from None
    except MALFORMED as error:
        raise _malformed_error(folder, error) from error
    try:
        tokenizers: Sequence[Tokenizer] = kind.tokenizers(folder)
    except MALFORMED as error:
        raise _malformed_error(folder, error) from error
    name = (name or path.resolve().name).lstrip(".") or "imported"
    recipe = recipes.from_toml("", overrides={"name": name, "model.kind": kind.KIND, **settings})
    _check_vocabularies(tokenizers, recipe, path)
    _check_weights(ours, recipe, folder)
    sources = [path / CONFIG, *paths, *(path / name for name in kind.FILES if folder.has(name))]
    data = {"files": file_hashes(sources), "fingerprint": "imported"}
    files.make_folder(run_folder.parent)
    with Run.create(run_folder, recipe, tokenizers, environment(data)) as run:
        weights = {name: weight.float().contiguous() for name, weight in ours.items()}
        run.save_model(weights, {"weights": "imported"})
    return Imported(run, kind.missing(theirs))


def model_types() -> list[str]:
    """Return the ``model_type`` of every model that can be imported."""
    names = (module.name for module in pkgutil.iter_modules(foreign.__path__))
    return sorted(name for name in names if not name.startswith("_"))


def _kind(folder: Folder) -> ModuleType:
    name = folder.config.get("model_type")
    if name not in model_types():
        supported = ", ".join(model_types())
        raise folder.refuse(f"model_type {json.dumps(name)} is not supported; supported are {supported}")
    return importlib.import_module(f"{foreign.__name__}.{name}")


def _malformed_error(folder: Folder, error: Exception) -> UserError:
    reason = " ".join(str(error).split()) or type(error).__name__
    fact = f"not a {folder.config['model_type']} model in the format of the transformers library ({reason})"
    return UserError(fact, place=str(folder.path), remedy="Save it again with save_pretrained.")


def _weight_files(folder: Folder) -> list[Path]:
    if folder.has(INDEX):
        names = sorted({str(name) for name in folder.json(INDEX).get("weight_map", {}).values()})
        if names and all(Path(name).name == name for name in names):
            return [folder.path / name for name in names]
        raise folder.refuse("it names no files in this folder", name=INDEX)
    if folder.has(WEIGHTS):
        return [folder.path / WEIGHTS]
    pickles = sorted(file.name for pattern in PICKLES for file in folder.path.glob(pattern))
    if pickles:
        # The folder's own class, since AutoModel would drop the head.
        architecture = next(iter(folder.config.get("architectures") or ()), "AutoModel")
        convert = f"transformers.{architecture}.from_pretrained(DIR).save_pretrained(NEW)"
        raise UserError(
            f"{pickles[0]} is a pickle, which can execute any code when loaded; there is no {WEIGHTS}",
            place=str(folder.path),
            remedy=f"If you trust it, convert it: {convert}.",
        )
    raise UserError(f"there is no {WEIGHTS}", place=str(folder.path))


def _check_vocabularies(tokenizers: Sequence[Tokenizer], recipe: Recipe[Settings], folder: Path) -> None:
    """Refuse a vocabulary larger than the embedding. A smaller one is common: rows are padded for speed."""
    sizes = [int(size) for key in VOCABULARIES if (size := getattr(recipe.model, key, None)) is not None]
    for tokenizer in tokenizers:
        if tokenizer.vocab_size > min(sizes):
            fact = f"the tokenizer has {tokenizer.vocab_size:,} tokens, but the model has {min(sizes):,}"
            raise UserError(fact, place=str(folder))


def _check_weights(ours: Mapping[str, Tensor], recipe: Recipe[Settings], folder: Folder) -> None:
    model_file.check_layers(recipe.model, len(ours), folder.path / CONFIG)
    try:
        with only_shapes():
            model = model_kinds.load(recipe.kind).Model(recipe.model)
    except MALFORMED as error:
        raise _malformed_error(folder, error) from error
    expected = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    actual = {name: tuple(weight.shape) for name, weight in ours.items()}
    if expected != actual:
        names = expected.keys() | actual.keys()
        name = min(name for name in names if expected.get(name) != actual.get(name))
        raise UserError(
            f"the weights do not match {CONFIG} "
            f"({name}: {actual.get(name, 'missing')}, expected {expected.get(name, 'none')})",
            place=str(folder.path),
        )
