"""Training of a recipe in a run folder."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from multihead.data.hashes import file_sha256
from multihead.errors import UserError
from multihead.inspect.curves import draw_curves
from multihead.inspect.report import AlignedSentence, training_page
from multihead.recipe import Recipe, recipe_hash, refuse_at_once, resume_recipe, with_horizon
from multihead.recipe.settings import OptimisationSettings, Settings
from multihead.run import Run
from multihead.run.environment import environment, file_hashes
from multihead.run.files import check_place
from multihead.run.follower import FollowingRun
from multihead.run.names import WEIGHTS
from multihead.system import hardware, parallel
from multihead.tasks.base import TaskSetup, setup
from multihead.tasks.translation.lines.recording import record_run
from multihead.training import Observer as TrainingObserver
from multihead.training import Outcome, Training
from multihead.training import disk_space as space
from multihead.training.distributed.shards import refuse_settings, refuse_too_many
from multihead.training.extension import go_back
from multihead.workflows.mirror import Mirror
from multihead.workflows.new_model import new_model, size_of
from multihead.workflows.same_start import (
    recipe_of_first,
    refuse_other_data,
    refuse_other_machines,
    with_processes,
)


class TrainObserver(TrainingObserver, Protocol):
    """Receives progress events of data preparation and training."""

    def on_preparation(self, stage: str, done: int, total: int | None) -> None:
        """Called with the progress of data preparation."""
        ...

    def on_data(self, summary: Sequence[str], tokens_per_epoch: int) -> None:
        """Called when the data is ready, with its description in lines and the size of an epoch."""
        ...

    def on_start(self, recipe: Recipe[Settings], model: nn.Module, device: torch.device, step: int) -> None:
        """Called before the first update; ``step`` updates were made in earlier starts."""
        ...


def train(
    recipe: Recipe[Settings],
    folder: Path,
    observer: TrainObserver,
    *,
    init: Path | None = None,
    started: float | None = None,
    finish: bool = False,
    longer: bool = False,
    mirror: str | None = None,
) -> Outcome:
    """Train the recipe's model in a run folder, or resume its training.

    Args:
        recipe: all settings.
        folder: the run folder; a new one, or one in which this recipe was started before.
        observer: receives progress events.
        init: a run whose weights and vocabulary to start from (fine-tuning).
        started: reading of ``time.monotonic`` at which the time limit began; None: now.
        finish: end the training now, with a cool-down where the schedule has one.
        longer: go on from before the cool-down, if it has begun; so do more steps or minutes than before.
        mirror: address to which the run is copied at every validation, and from which it is resumed where the
            folder does not exist, see ``workflows.mirror``.

    Raises:
        UserError: bad data; bad settings; a run folder with other settings or data.
    """
    started = time.monotonic() if started is None else started
    with parallel.begin():
        copied = Mirror(mirror, folder) if mirror and parallel.first() else None
        if copied:
            copied.fetch()
        recipe = recipe_of_first(lambda: recipe)
        outcome = _train(recipe, folder, observer, init, started, finish, longer, copied)
        if copied:
            copied.push()
        return outcome


def _train(
    recipe: Recipe[Settings],
    folder: Path,
    observer: TrainObserver,
    init: Path | None,
    started: float,
    finish: bool,
    longer: bool,
    mirror: Mirror | None,
) -> Outcome:
    settings = recipe.training
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    device = hardware.pick_device(settings.device)
    precision = hardware.training_precision(settings.precision, device)
    refuse_other_machines(settings, device)
    refuse_too_many(settings.accumulate)
    refuse_settings(settings)
    before = recipe
    if parallel.first():
        check_place(folder)
        if Run.exists(folder):
            before = Run.open(folder).recipe
            refuse_at_once(before, recipe, place=str(folder))
            longer = longer or _raised(before.training, settings)
    init_run = Run.open(init) if init else None
    task = parallel.in_turn(
        lambda: setup(recipe, device, progress=observer.on_preparation, init_run=init_run)
    )
    refuse_other_data(task.fingerprint)
    observer.on_data([*task.summary, *_cautions(recipe, device)], task.tokens_per_epoch)
    run: Run = FollowingRun(folder)
    if parallel.first():
        run, recipe = _open(folder, task, precision, _weights_hash(init_run))
    recipe = recipe_of_first(lambda: recipe)
    with run:
        longer = parallel.from_first(lambda: longer and go_back(run, before.training, recipe.training))
        model = new_model(recipe, device, init_run)
        training = Training(
            run=run,
            model=model,
            stream=task.stream,
            validate=task.validate,
            observer=_ReportingObserver(run, observer, size_of(model), mirror)
            if parallel.first()
            else observer,
            settings=recipe.training,
            validation=recipe.validation,
            d_model=getattr(recipe.model, "d_model", 1),
            device=device,
            started=started,
            finish=finish,
            longer=longer,
        )
        if parallel.first():
            space.check(folder, model, recipe.training)
        _refuse_fewer(training, folder)
        if parallel.first():
            run.write_recipe(recipe)
            run.record_kind(recipe.kind)
        if (init_run and not training.progress.step) or longer:
            training.save()  # so that the run resumes from these weights even without --init or --longer
        observer.on_start(recipe, model, device, training.progress.step)
        outcome = training.fit()
        if parallel.first():
            write_reports(run, size_of(model), task.attention_maps if outcome.status == "finished" else None)
            if outcome.status == "finished":
                _write_further_files(run, task)
        return outcome


def _cautions(recipe: Recipe[Settings], device: torch.device) -> Iterator[str]:
    """Yield a caution for each setting that suits the run's length or this machine badly."""
    if recipe.training.precision == "bf16" and not hardware.has_fast_bf16(device):
        yield (
            "caution: this processor emulates bf16, which may be many times slower than fp32 "
            "(training.precision bf16): auto chooses what is fastest"
        )
    if recipe.training.shard_weights and parallel.world() == 1:
        yield "caution: one process has no weights to divide (training.shard_weights): start several"
    steps, warmup, every = recipe.training.steps, recipe.training.warmup_steps, recipe.validation.every
    if steps <= warmup:
        yield (
            f"caution: the learning rate still rises when training ends (training.steps {steps:,}, "
            f"training.warmup_steps {warmup:,})"
        )
    if steps < every:
        yield (
            f"caution: no validation before training ends (training.steps {steps:,}, "
            f"validation.every {every:,}): the last weights become the model"
        )


def default_folder(recipe: Recipe[Settings]) -> Path:
    """Return the default run folder of a recipe; its name contains a hash of the settings."""
    return Path("runs") / f"{recipe.name}-{recipe_hash(recipe)}"


def _refuse_fewer(training: Training, folder: Path) -> None:
    """Refuse fewer updates than the run has already made."""
    done, steps = training.progress.step, training.settings.steps
    if done > steps:
        raise UserError(
            f"the run has already made {done:,} updates, more than training.steps {steps:,}",
            place=str(folder),
            remedy=f"Set training.steps to at least {done}, or choose another --run folder.",
        )


def _raised(before: OptimisationSettings, now: OptimisationSettings) -> bool:
    """Return True if more steps or minutes are given than a run had."""
    return now.steps > before.steps or now.minutes > before.minutes > 0


def _weights_hash(init_run: Run | None) -> str:
    """Return the SHA-256 of the initial weights; "" for random initialisation."""
    path = init_run.folder / WEIGHTS if init_run else None
    return file_sha256(path) if path and path.is_file() else ""


def _open(folder: Path, task: TaskSetup, precision: str, init: str) -> tuple[Run, Recipe[Settings]]:
    """Return the locked run folder and the recipe to train by.

    The folder is new, or has the same settings, data and initial weights.
    """
    if not Run.exists(folder):
        recipe = with_horizon(task.recipe)
        files = file_hashes(task.files)
        data = {"files": files, "fingerprint": task.fingerprint, INIT: init, **task.data}
        found = with_processes(environment(data, products=precision), task.recipe.training)
        return Run.create(folder, recipe, task.tokenizers, found), recipe
    run = Run.open(folder).lock()
    try:
        recipe = resume_recipe(run.recipe, task.recipe, place=str(folder))
        data = run.environment["data"]
        if init and data.get(INIT, init) != init:
            raise UserError(
                "this run was started from other weights than those of --init",
                place=str(folder),
                remedy="Resume it without --init, or choose another --run folder.",
            )
        if data.get("fingerprint") != task.fingerprint:
            fact = "this run was started with other data: file contents or preparation settings differ"
            remedy = "Restore the old files, or choose another --run folder."
            raise UserError(fact, place=str(folder), remedy=remedy)
        _refuse_other_tokenizers(run, task)
    except BaseException:
        run.close()
        raise
    return run, recipe


def _refuse_other_tokenizers(run: Run, task: TaskSetup) -> None:
    """Raise ``UserError`` for data encoded by other tokenizers than the run's, where ids mean other words."""
    own = run.tokenizers() if task.tokenizers else ()
    if any(a.fingerprint != b.fingerprint for a, b in zip(task.tokenizers, own, strict=False)):
        fact = "the vocabulary now learned from the same data differs from the run's"
        remedy = "Install the version of tokenizers in environment.json, or choose another --run folder."
        raise UserError(fact, place=str(run.folder), remedy=remedy)


def write_reports(
    run: Run, parameters: int, attention_maps: Callable[[nn.Module], Sequence[AlignedSentence]] | None = None
) -> None:
    """Write a run's curves.svg and report.html. A failure is only a warning, so that training continues.

    Args:
        run: the run, locked.
        parameters: number of the model's parameters.
        attention_maps: returns attention maps of sample sentences, see ``TaskSetup``; None: no maps.
    """
    try:
        draw_curves(run.metrics(), run.folder / "curves.svg")
        device = hardware.pick_device(run.recipe.training.device)
        maps = attention_maps(run.load_model(device)) if attention_maps else ()
        training_page(run, parameters, maps).save(run.folder / "report.html")
    except Exception as error:
        fact = f"curves.svg and report.html could not be written: {type(error).__name__}: {error}"
        warnings.warn(f"{run.folder}: {fact}", stacklevel=2)


def _write_further_files(run: Run, task: TaskSetup) -> None:
    """Write the further files of a finished run. A failure is only a warning: the model is trained."""
    try:
        device = hardware.pick_device(run.recipe.training.device)
        for name, text in task.further_files(run.load_model(device)).items():
            run.write_further(name, text)
        if run.recipe.task == "translation":
            record_run(run)
    except Exception as error:
        warnings.warn(f"{run.folder}: {type(error).__name__}: {error}", stacklevel=2)


INIT = "init"
"""Key in environment.json: SHA-256 of the initial weights; "" for random initialisation."""

REPORT_INTERVAL = 10
"""Reports are redrawn after at least this many times as long as drawing took: at most a tenth of the time."""


class _ReportingObserver:
    """Redraws curves and report at validations, not too often, and passes events on to another observer."""

    def __init__(
        self, run: Run, observer: TrainingObserver, parameters: int, mirror: Mirror | None = None
    ) -> None:
        self.run, self.observer, self.parameters, self.mirror = run, observer, parameters, mirror
        self._next = 0.0

    def on_step(self, step: int) -> None:
        self.observer.on_step(step)

    def on_log(self, event: dict[str, Any]) -> None:
        self.observer.on_log(event)

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        began = time.monotonic()
        if began >= self._next:
            write_reports(self.run, self.parameters)
            ended = time.monotonic()
            self._next = ended + REPORT_INTERVAL * (ended - began)
        if self.mirror:
            self.mirror.push()
        self.observer.on_validation(event, samples)
