"""``multihead.load``: a run folder, ready to do what it was trained for."""

from pathlib import Path
from typing import Any, Literal, overload

from multihead.api.loaded import (
    LoadedArtist,
    LoadedFiller,
    LoadedPictures,
    LoadedTexts,
    LoadedTranslator,
    LoadedWriter,
)
from multihead.errors import UserError
from multihead.hardware import Precision
from multihead.run import Run

Loaded = LoadedTranslator | LoadedWriter | LoadedFiller | LoadedTexts | LoadedPictures | LoadedArtist

_LOADED: dict[str, Any] = {
    "translation": LoadedTranslator,
    "language": LoadedWriter,
    "masked": LoadedFiller,
    "classification": LoadedTexts,
    "pictures": LoadedPictures,
    "drawing": LoadedArtist,
}


@overload
def load(*runs: str | Path, device: str = ..., precision: Precision = ..., task: None = ...) -> Any: ...
@overload
def load(
    *runs: str | Path, device: str = ..., precision: Precision = ..., task: Literal["translation"]
) -> LoadedTranslator: ...
@overload
def load(*runs: str | Path, device: str = ..., task: Literal["language"]) -> LoadedWriter: ...
@overload
def load(*runs: str | Path, device: str = ..., task: Literal["masked"]) -> LoadedFiller: ...
@overload
def load(*runs: str | Path, device: str = ..., task: Literal["classification"]) -> LoadedTexts: ...
@overload
def load(*runs: str | Path, device: str = ..., task: Literal["pictures"]) -> LoadedPictures: ...
@overload
def load(*runs: str | Path, device: str = ..., task: Literal["drawing"]) -> LoadedArtist: ...
def load(
    *runs: str | Path, device: str = "auto", precision: Precision = "auto", task: str | None = None
) -> Loaded:
    """Return a trained run, ready to do what it was trained for; several translators make an ensemble.

    Args:
        runs: run folders.
        device: cuda, mps, cpu, or auto: the first of these that there is.
        precision: of a translator's matrix products, as in ``multihead translate --precision``.
        task: what the runs must be trained for; so a type checker knows what comes back. None: anything.

    Raises:
        UserError: not a run folder, not trained yet, or trained for something else; several runs that are no
            translators, or whose vocabularies differ; no such precision.
    """
    if not runs:
        raise UserError("no run folder is named", remedy='multihead.load("runs/NAME")')
    found = task or Run.open(runs[0]).task
    if len(runs) > 1 and found != "translation":
        raise UserError(f"{len(runs)} runs, but only translators make an ensemble", place=str(runs[1]))
    if found not in _LOADED:
        raise UserError(f'there is no task "{found}"', remedy=f"Known are {', '.join(_LOADED)}.")
    chosen = {} if precision == "auto" else {"precision": precision}
    if chosen and found != "translation":
        raise UserError("only a translator's precision can be chosen", place=str(runs[0]))
    loaded: Loaded = _LOADED[found].load(*runs, device=device, **chosen)
    return loaded
