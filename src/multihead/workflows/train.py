"""From a recipe to a trained run folder."""

from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from multihead import hardware, models, randomness
from multihead.data.batches import BatchStream, Position, Reencode
from multihead.data.prepare import Prepared, prepare
from multihead.data.vocabularies import Tokenizers
from multihead.errors import UserError
from multihead.inspect.curves import draw_curves
from multihead.recipe import Recipe, resumed, with_horizon, with_vocabularies
from multihead.run import Run
from multihead.run.environment import environment, file_hashes
from multihead.settings import DataSettings, Settings
from multihead.text.bpe_dropout import BPEDropout
from multihead.text.tokenizer import Tokenizer
from multihead.training import Observer as TrainingObserver
from multihead.training import Outcome, Training
from multihead.workflows.validation import Validator

MULTIPLE = 4
"""Batches are padded to multiples of this: few different shapes, which the matrix library likes."""


class Observer(TrainingObserver, Protocol):
    """Who is told how it goes, from the corpus on."""

    def preparing(self, stage: str, done: int, total: int | None) -> None:
        """Say how far the preparation of the corpus has come."""
        ...

    def prepared(self, prepared: Prepared) -> None:
        """The corpus is ready."""
        ...

    def begins(self, recipe: Recipe[Settings], model: nn.Module, device: torch.device, step: int) -> None:
        """The first update is about to be made, after ``step`` earlier ones."""
        ...


def train(recipe: Recipe[Settings], folder: Path, observer: Observer, *, init: Path | None = None) -> Outcome:
    """Train, or go on training, the recipe's model in a run folder.

    Args:
        recipe: all settings.
        folder: the run folder; new, or one that this recipe was started in before.
        observer: who is told.
        init: the run whose model and vocabulary to begin with (fine-tuning).

    Raises:
        UserError: bad data, bad settings, a run folder with other settings or other data in it.
    """
    settings = recipe.training
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    device = hardware.pick_device(settings.device)
    beginning = Run.open(init) if init else None
    prepared = prepare(
        recipe.data,
        recipe.tokenizer,
        seed=settings.seed,
        progress=observer.preparing,
        init_tokenizers=beginning.tokenizers() if beginning else None,
    )
    observer.prepared(prepared)
    recipe = resolved(recipe, prepared)
    with _opened(folder, recipe, prepared) as run:
        recipe = run.recipe
        model = new_model(recipe, device, beginning)
        training = Training(
            run=run,
            model=model,
            stream=lambda position: iter(batches(recipe, prepared, position)),
            validate=Validator(prepared, recipe, device),
            observer=_Drawing(run, observer),
            settings=recipe.training,
            validation=recipe.validation,
            d_model=getattr(recipe.model, "d_model", 1),
            device=device,
        )
        observer.begins(recipe, model, device, training.progress.step)
        outcome = training.fit()
        draw_curves(run.metrics(), run.folder / "curves.svg")
        return outcome


def resolved(recipe: Recipe[Settings], prepared: Prepared) -> Recipe[Settings]:
    """Return the recipe with everything filled in that follows from the corpus."""
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    return with_vocabularies(recipe, source.vocab_size, target.vocab_size)


def new_model(recipe: Recipe[Settings], device: torch.device, beginning: Run | None = None) -> nn.Module:
    """Return the recipe's model as training finds it: initialised from the seed, or from another run."""
    with randomness.at(recipe.training.seed, "initialise"):
        model: nn.Module = models.load(recipe.kind).Model(recipe.model)
    if beginning:
        trained = beginning.load_model().state_dict()
        if {name: w.shape for name, w in trained.items()} != {
            name: w.shape for name, w in model.state_dict().items()
        }:
            raise UserError(
                "its model has other sizes than this recipe's",
                place=str(beginning.folder),
                remedy="Give the same [model] settings, or no recipe: the run's own are then taken.",
            )
        model.load_state_dict(trained)
    return model.to(device)


def batches(recipe: Recipe[Settings], prepared: Prepared, position: Position) -> BatchStream:
    """Return the endless stream of training batches from a position on."""
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    dropout, seed = recipe.tokenizer.dropout, recipe.training.seed
    return BatchStream(
        prepared.train,
        batch_tokens=recipe.training.batch_tokens,
        seed=seed,
        pad_id=target.pad_id,
        bos_id=target.bos_id,
        eos_id=target.eos_id,
        position=position,
        source_encode=_reencoder(source, dropout, randomness.derive(seed, "source")),
        target_encode=_reencoder(target, dropout, randomness.derive(seed, "target")),
        multiple=MULTIPLE,
    )


def _reencoder(tokenizer: Tokenizer, dropout: float, seed: int) -> Reencode | None:
    if not dropout:
        return None
    return BPEDropout(tokenizer, dropout, seed).reencode


def _opened(folder: Path, recipe: Recipe[Settings], prepared: Prepared) -> Run:
    """Return the run folder, locked: made now, or found with the same settings and the same data."""
    tokenizers: Tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    if not Run.exists(folder):
        data = {
            "files": file_hashes(named_files(recipe.data)),
            "fingerprint": prepared.fingerprint,
            "pairs": len(prepared.train),
            "cleaning": prepared.report.to_dict(),
        }
        return Run.create(folder, with_horizon(recipe), tokenizers, environment(data))
    run = Run.open(folder).lock()
    before = run.environment["data"]["fingerprint"]
    if before != prepared.fingerprint:
        run.close()
        raise UserError(
            "this run was started with other data (the files' contents, or how they are prepared, differ)",
            place=str(folder),
            remedy="Bring the old files back, or give another --run folder.",
        )
    run.write_recipe(resumed(run.recipe, recipe, place=str(folder)))
    return run


def named_files(data: DataSettings) -> list[Path]:
    """Return the training and validation files; standard input is none."""
    names = (*data.source, *data.target, *data.valid_source, *data.valid_target)
    return [Path(data.dir) / name for name in names if name != "-"]


class _Drawing:
    """Redraws the learning curves at every validation, then tells the other observer."""

    def __init__(self, run: Run, observer: TrainingObserver) -> None:
        self.run, self.observer = run, observer

    def updated(self, event: dict[str, Any]) -> None:
        self.observer.updated(event)

    def validated(self, event: dict[str, Any], samples: str) -> None:
        draw_curves(self.run.metrics(), self.run.folder / "curves.svg")
        self.observer.validated(event, samples)
