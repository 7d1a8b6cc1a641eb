"""From a folder as the transformers library writes it to a run folder: weights, settings, vocabulary."""

import importlib
import json
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from multihead import models
from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.run import Run, files, tensors
from multihead.run.environment import environment, file_hashes
from multihead.run.model_file import read_json
from multihead.text.tokenizer import Tokenizer
from multihead.workflows import foreign

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


def import_folder(folder: Path, run_folder: Path) -> Run:
    """Make a run folder of a local folder with config.json, model.safetensors and tokenizer.json.

    Args:
        folder: what to read; nothing is fetched.
        run_folder: new.

    Raises:
        UserError: a file is missing, damaged or a pickle; a model that is not known here; weights that are
            not of the model that config.json describes; a vocabulary that does not go with it.
    """
    if not folder.is_dir():
        raise UserError("no such folder", place=str(folder), remedy="Name a folder on this machine.")
    config = read_json(folder / CONFIG)
    kind = _kind(config, folder)
    paths = _weight_files(folder)
    try:
        settings = kind.settings(config)
        ours = kind.weights(_weights(paths))
    except KeyError as error:
        fact = f"{error} is missing, which a {config['model_type']} has"
        raise UserError(fact, place=str(folder), remedy="Is it the whole model, as it was saved?") from None
    tokenizer = _tokenizer(folder, settings["vocab_size"])
    name = folder.resolve().name.lstrip(".") or "imported"
    given = {"name": name, "model.kind": kind.KIND, **{f"model.{key}": v for key, v in settings.items()}}
    recipe = recipes.from_toml("", overrides=given)
    module = models.load(kind.KIND)
    with torch.device("meta"):
        wanted = {name: tuple(w.shape) for name, w in module.Model(recipe.model).state_dict().items()}
    found = {name: tuple(weight.shape) for name, weight in ours.items()}
    if wanted != found:
        odd = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))[0]
        raise UserError(
            f"the weights are not of the model that {CONFIG} describes "
            f"({odd}: {found.get(odd, 'missing')}, not {wanted.get(odd, 'known')})",
            place=str(folder),
        )
    data = {"files": file_hashes([folder / CONFIG, *paths, folder / TOKENIZER]), "fingerprint": "imported"}
    files.make_folder(run_folder.parent)
    with Run.create(run_folder, recipe, (tokenizer,), environment(data)) as run:
        run.save_model({name: weight.float() for name, weight in ours.items()}, {"weights": "imported"})
    return run


def known() -> list[str]:
    """Return the ``model_type`` of every model that can be imported."""
    return sorted(module.name for module in pkgutil.iter_modules(foreign.__path__))


def _kind(config: Mapping[str, Any], folder: Path) -> ModuleType:
    name = config.get("model_type")
    if name not in known():
        fact = f"model_type is {json.dumps(name)}, and known are {', '.join(known())}"
        raise UserError(fact, place=str(folder / CONFIG))
    return importlib.import_module(f"{foreign.__name__}.{name}")


def _weight_files(folder: Path) -> list[Path]:
    if (folder / INDEX).is_file():
        names = sorted({str(name) for name in read_json(folder / INDEX).get("weight_map", {}).values()})
        if names and all(Path(name).name == name for name in names):
            return [folder / name for name in names]
        raise UserError("names no files of this folder", place=str(folder / INDEX))
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    pickles = sorted(file.name for pattern in PICKLES for file in folder.glob(pattern))
    if pickles:
        raise UserError(
            f"{pickles[0]} is a pickle, which can run any program when it is read; there is no {WEIGHTS}",
            place=str(folder),
            remedy="Convert it where you trust it: AutoModel.from_pretrained(DIR).save_pretrained(NEW).",
        )
    raise UserError(f"there is no {WEIGHTS}", place=str(folder))


def _weights(paths: list[Path]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for path in paths:
        found |= tensors.load(path)[0]
    return found


def _tokenizer(folder: Path, vocab_size: int) -> Tokenizer:
    if not (folder / TOKENIZER).is_file():
        remedy = "Have it written: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)."
        raise UserError(f"there is no {TOKENIZER}", place=str(folder), remedy=remedy)
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    if tokenizer.vocab_size > vocab_size:
        fact = f"{tokenizer.vocab_size:,} pieces, but the model has {vocab_size:,}"
        raise UserError(fact, place=str(folder / TOKENIZER))
    return tokenizer
