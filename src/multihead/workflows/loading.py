"""``multihead.load``: loads a run folder as the class of its task."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from multihead import run
from multihead.errors import UserError
from multihead.recipe import tasks
from multihead.system import plugins
from multihead.system.imports import is_installed
from multihead.system.native_library import Precision
from multihead.tasks.translation.lines.loading import native_record, needs_pytorch
from multihead.tasks.translation.text_methods import LoadedNativeTranslator

if TYPE_CHECKING:
    from multihead.api.loaded_sets import LoadedAnswerer, LoadedDetector, LoadedOddOneOut, LoadedTagger
    from multihead.tasks.loaded import (
        LoadedImageClassifier,
        LoadedImageGenerator,
        LoadedMaskFiller,
        LoadedTextClassifier,
        LoadedTextGenerator,
        LoadedTranslator,
    )

_LOADED = {
    "translation": "LoadedTranslator",
    "language": "LoadedTextGenerator",
    "masked": "LoadedMaskFiller",
    "classification": "LoadedTextClassifier",
    "pictures": "LoadedImageClassifier",
    "drawing": "LoadedImageGenerator",
    "tagging": "LoadedTagger",
    "spans": "LoadedAnswerer",
    "detection": "LoadedDetector",
    "sets": "LoadedOddOneOut",
}
"""Classes of ``multihead.api``, which are imported on first use because they need PyTorch."""


Code = str | Path | None
"""A Python file with a model."""


@overload
def load(
    *runs: str | Path, precision: Precision = ..., engine: Literal["native"]
) -> LoadedNativeTranslator: ...
@overload
def load(
    *runs: str | Path,
    device: str = ...,
    precision: Precision = ...,
    model_file: Code = ...,
    task: None = ...,
) -> Any: ...
@overload
def load(
    *runs: str | Path,
    device: str = ...,
    precision: Precision = ...,
    model_file: Code = ...,
    task: Literal["translation"],
) -> "LoadedTranslator": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["language"]
) -> "LoadedTextGenerator": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["masked"]
) -> "LoadedMaskFiller": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["classification"]
) -> "LoadedTextClassifier": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["pictures"]
) -> "LoadedImageClassifier": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["drawing"]
) -> "LoadedImageGenerator": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["tagging"]
) -> "LoadedTagger": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["spans"]
) -> "LoadedAnswerer": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["detection"]
) -> "LoadedDetector": ...
@overload
def load(
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["sets"]
) -> "LoadedOddOneOut": ...
def load(
    *runs: str | Path,
    device: str = "auto",
    precision: Precision = "auto",
    model_file: Code = None,
    task: str | None = None,
    engine: Literal["auto", "native"] = "auto",
) -> Any:
    """Load a trained run; several translators form an ensemble.

    Args:
        runs: run folders.
        device: cuda, mps or cpu; auto takes the first of these that is available.
        precision: of a translator's matrix products, as in ``multihead translate --precision``.
        model_file: the Python file of a model from outside the package; it is executed. A run folder never
            names a file that is executed.
        task: the expected task, which also tells a type checker the returned class. None: any.
        engine: "native": a translator by the native kernels alone, on the CPU; PyTorch is not imported,
            unless a setting needs it (sampling, prefixes). "auto": with PyTorch, by the fastest engine; as
            "native" where PyTorch is not installed.

    Raises:
        UserError: not a run folder, not trained yet, or trained for another task; several runs that are not
            translators or differ in vocabulary; an unknown precision or engine; a run that the native kernels
            alone cannot search, where nothing else is asked for or installed.
    """
    if not runs:
        raise UserError("no run folder was given", remedy='Call multihead.load("runs/NAME").')
    if engine == "native":
        return _native(runs, device, precision, task)
    if engine != "auto":
        raise UserError(f"no engine {engine!r}", remedy="Use auto or native.")
    if not is_installed("torch"):
        if model_file is not None or native_record(*runs, device=device) is None:
            raise needs_pytorch(*runs, device=device)
        return _native(runs, device, precision, task)
    if model_file is not None:
        plugins.name_file(model_file)
    found = task or run.Run.open(runs[0]).task
    if len(runs) > 1 and found != "translation":
        raise UserError(
            f"{len(runs)} runs were given, but only translators can form an ensemble",
            place=str(runs[1]),
            remedy="Load each run separately.",
        )
    if found not in _LOADED and (outside := tasks.is_outside(found)):
        if not hasattr(outside, "load"):
            fact = f"runs of the task {plugins.shown(found)} cannot be loaded"
            raise UserError(fact, place=str(runs[0]), remedy="Give the task's module a load(run, device).")
        return outside.load(run.Run.open(runs[0]), device)
    if found not in _LOADED:
        raise UserError(f'there is no task "{found}"', remedy=f"The tasks are {', '.join(_LOADED)}.")
    chosen = {} if precision == "auto" else {"precision": precision}
    if chosen and found != "translation":
        raise UserError(
            "precision can be set for translators only", place=str(runs[0]), remedy="Leave it at its default."
        )
    kind: Any = getattr(importlib.import_module("multihead.api"), _LOADED[found])
    return kind.load(*runs, device=device, **chosen)


def _native(
    runs: tuple[str | Path, ...], device: str, precision: Precision, task: str | None
) -> LoadedNativeTranslator:
    if len(runs) > 1 or device not in ("auto", "cpu") or task not in (None, "translation"):
        fact = "the native engine alone searches with one translator, on the CPU"
        raise UserError(fact, place=str(runs[0]), remedy="Leave engine at auto.")
    return LoadedNativeTranslator.load(runs[0], precision)
