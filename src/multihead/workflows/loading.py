"""``multihead.load``: loads a run folder as the class of its task."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from multihead import run
from multihead.errors import UserError
from multihead.recipe import model_kinds, tasks
from multihead.system import plugins
from multihead.system.imports import is_installed
from multihead.system.native_library import Precision
from multihead.tasks.translation.lines.loading import native_record, needs_pytorch
from multihead.tasks.translation.text_methods import LoadedNativeTranslator

if TYPE_CHECKING:
    from multihead.tasks.classification.loaded import LoadedTextClassifier
    from multihead.tasks.detection.loaded import LoadedDetector
    from multihead.tasks.drawing.loaded import LoadedImageGenerator
    from multihead.tasks.images.loaded import LoadedImageClassifier
    from multihead.tasks.language.loaded import LoadedTextGenerator
    from multihead.tasks.masked.loaded import LoadedMaskFiller
    from multihead.tasks.sets.loaded import LoadedOddOneOut
    from multihead.tasks.spans.loaded import LoadedAnswerer
    from multihead.tasks.tagging.loaded import LoadedTagger
    from multihead.tasks.translation.loaded import LoadedTranslator

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
    task: Literal["translation"] | None = ...,
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
    *runs: str | Path, device: str = ..., model_file: Code = ..., task: Literal["images"]
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
        task: the expected task, which also tells a type checker the returned class. None: any; a type checker
            then expects a translator.
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
    chosen = tasks.get_task(task or run.Run.open(runs[0]).task)
    if len(runs) > 1 and not chosen.ensembles:
        raise UserError(
            f"{len(runs)} runs were given, but only translators can form an ensemble",
            place=str(runs[1]),
            remedy="Load each run separately.",
        )
    options = {} if precision == "auto" else {"precision": precision}
    if options and chosen.name != model_kinds.DEFAULT_TASK:
        raise UserError(
            "precision can be set for translators only", place=str(runs[0]), remedy="Leave it at its default."
        )
    return chosen.part("load")(*runs, device=device, **options)


def _native(
    runs: tuple[str | Path, ...], device: str, precision: Precision, task: str | None
) -> LoadedNativeTranslator:
    if len(runs) > 1 or device not in ("auto", "cpu") or task not in (None, "translation"):
        fact = "the native engine alone searches with one translator, on the CPU"
        raise UserError(fact, place=str(runs[0]), remedy="Leave engine at auto.")
    return LoadedNativeTranslator.load(runs[0], precision)
