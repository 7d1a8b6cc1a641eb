"""Conversion of a trained BERT or GPT to longer texts, by copying positions (Beltagy et al. 2020, sec. 5)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from multihead.errors import UserError
from multihead.models._attention import WINDOWED
from multihead.recipe import Recipe, model_kinds, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run, files
from multihead.run.environment import environment, file_hashes
from multihead.run.names import WEIGHTS

BERTS = ("bert", "bert_classifier", "bert_spans", "bert_tagger")
LENGTH = {**dict.fromkeys(BERTS, "max_positions"), "gpt": "context"}
"""The setting of each model that can be lengthened."""
TABLE = {**dict.fromkeys(BERTS, "encoder.positions.weight"), "gpt": "positions.weight"}
"""The weight with a row for each position."""
GLOBAL = "_global"


def lengthen(
    source: Path, folder: Path, positions: int, *, attention: str | None = None, window: int | None = None
) -> Run:
    """Write a new run: the same model for texts of ``positions`` tokens, with windowed attention.

    The table of learned positions is repeated. Longformer's projections of global tokens begin as copies of
    the others (sec. 5). On a text that one window covers, the new model computes what the old one did.

    Args:
        source: the trained run.
        folder: the new run folder.
        positions: the longest text of the new model.
        attention: kind of attention; None: "longformer" for an encoder, "window" for a GPT, or the model's
            own if it is not full.
        window: its window; None: as many positions as the old model had, or the model's own.

    Raises:
        UserError: another model; one without learned positions; not longer than before; attention whose
            weights depend on the length, or that the model cannot have.
    """
    run = Run.open(source)
    recipe = run.recipe
    if recipe.kind not in LENGTH:
        fact = f'the model "{recipe.kind}" is not one of {", ".join(LENGTH)}'
        raise UserError(
            fact, place=str(source), remedy="Only a table of learned positions can be lengthened."
        )
    old = _check(recipe, positions, source)
    changes = _changes(recipe, old, positions, attention, window)
    new = with_model(recipe, changes)
    if hasattr(new.data, "max_length"):
        new = replace(new, data=new.data.model_copy(update={"max_length": positions}))
    weights = _weights(run.load_model().state_dict(), new, old)
    data = {"files": file_hashes([source / WEIGHTS]), "fingerprint": "lengthened"}
    files.make_folder(folder.parent)
    tokenizers = run.tokenizers()[:1]
    with Run.create(folder, new, tokenizers, environment(data)) as longer:
        longer.save_model(weights, {"weights": "lengthened"})
    return longer


def _check(recipe: Recipe[Settings], positions: int, source: Path) -> int:
    """Return the model's length. Raises ``UserError`` if it cannot be lengthened to ``positions``."""
    model: Any = recipe.model
    old: int = getattr(model, LENGTH[recipe.kind])
    if getattr(model, "positions", "learned") == "none":
        fact = "the model has no positions: its texts may exceed the context already"
        raise UserError(fact, place=str(source), remedy="Generate as many tokens as you like (--max-tokens).")
    if model.attention in ("linformer", "reformer"):
        fact = f'attention = "{model.attention}" has weights or buckets made for {old:,} positions'
        raise UserError(fact, place=str(source), remedy="Train it with the length that you need.")
    if positions <= old:
        fact = f"{positions:,} positions are not more than the model's {old:,}"
        raise UserError(fact, place="--positions", remedy=f"Give more than {old}.")
    return old


def _changes(
    recipe: Recipe[Settings], old: int, positions: int, attention: str | None, window: int | None
) -> dict[str, object]:
    model: Any = recipe.model
    usual = "window" if recipe.kind == "gpt" else "longformer"
    kind = attention or (usual if model.attention == "full" else model.attention)
    changes: dict[str, object] = {LENGTH[recipe.kind]: positions, "attention": kind}
    if kind in WINDOWED:
        as_before = old if recipe.kind == "gpt" else 2 * (old // 2) + 1
        default = as_before if model.attention not in WINDOWED else model.window
        changes["window"] = window or default
    elif window is not None:
        raise UserError(f'attention = "{kind}" has no window', place="--window", remedy="Leave it out.")
    return changes


def _weights(trained: dict[str, Tensor], recipe: Recipe[Settings], old: int) -> dict[str, Tensor]:
    model: Any = recipe.model
    table, length = TABLE[recipe.kind], getattr(model, LENGTH[recipe.kind])
    weights = dict(trained)
    weights[table] = trained[table].repeat(-(-length // old), 1)[:length].contiguous()
    for name in model_kinds.load(recipe.kind).Model(model).state_dict():
        if GLOBAL in name and name not in weights:
            weights[name] = trained[name.replace(GLOBAL, "")].clone()
    return weights
