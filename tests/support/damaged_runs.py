"""A small run folder with every kind of file, and the readers of its files."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import torch

from multihead.models.transformer import Settings as TransformerSettings
from multihead.recipe import load, model_kinds, with_horizon
from multihead.recipe.settings import TokenizerSettings
from multihead.run import Run
from multihead.run.verify import verify
from multihead.text.training import train

READ: Mapping[str, Callable[[Run], object]] = {
    "recipe.toml": lambda run: Run.open(run.folder).recipe,
    "environment.json": lambda run: Run.open(run.folder).environment,
    "model.json": lambda run: Run.open(run.folder).load_model(),
    "manifest.json": lambda run: Run.open(run.folder).load_model(),
    "tokenizer.json": lambda run: Run.open(run.folder).tokenizers(),
    "model.safetensors": lambda run: Run.open(run.folder).load_model(),
    "metrics.jsonl": lambda run: len(list(run.metrics())) < EVENTS,
}
"""The reader of each file; that of metrics.jsonl returns whether an event is missing."""
EVENTS = 5


def make_run(folder: Path) -> Path:
    """Make a finished run."""
    tokenizer = train(["ein Hund und eine Katze", "a dog and a cat"], TokenizerSettings(vocab_size=300))
    size = tokenizer.vocab_size
    settings = TransformerSettings(
        source_vocab=size, target_vocab=size, d_model=6, d_ff=7, num_layers=1, num_heads=2
    )
    recipe = with_horizon(replace(load("quickstart"), model=settings))
    torch.manual_seed(5)
    with Run.create(folder, recipe, (tokenizer, tokenizer), {"data": {}}) as run:
        run.save_model(model_kinds.load("transformer").Model(settings).state_dict(), {"step": 7})
        for step in range(EVENTS):
            run.log({"event": "update", "step": step, "loss": 1.5 - step / 10})
    return folder


def reported(folder: Path, path: Path) -> bool:
    """Return whether ``verify`` reports a file, or that others do not belong to it."""
    rows = [row for row in verify(folder) if row.damaged or row.fact] if _is_run(folder) else None
    if rows is None:
        return True
    name = path.relative_to(folder).as_posix()
    return bool(rows) if name == "manifest.json" else name in [row.file for row in rows]


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("recipe.toml", "model.json", "manifest.json"))
