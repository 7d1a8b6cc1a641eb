"""Training of a recipe in a run folder."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from multihead.inspect.curves import draw_curves
from multihead.inspect.report import AlignedSentence, training_page
from multihead.recipe import Recipe, recipe_hash, with_horizon
from multihead.recipe.settings import OptimisationSettings, Settings
from multihead.run import Run
from multihead.run.environment import environment, file_hashes
from multihead.run.follower import FollowingRun
from multihead.system import hardware, parallel
from multihead.tasks.base import TaskSetup, setup
from multihead.tasks.translation.lines.recording import record_run
from multihead.training import Observer as TrainingObserver
from multihead.training import Outcome, Training, TrainingPlan
from multihead.training.extension import go_back
from multihead.workflows.mirror import Mirror
from multihead.workflows.new_model import new_model, size_of
from multihead.workflows.preflight import (
    INIT,
    cautions,
    check_resumed,
    check_training,
    preflight,
    weights_hash,
)
from multihead.workflows.same_start import recipe_of_first, with_processes


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
    with parallel.begin(), _mirror_run(folder, mirror) as copy:
        recipe = recipe_of_first(lambda: recipe)
        device = _use_machine(recipe.training)
        init_run = Run.open(init) if init else None
        task = preflight(
            recipe,
            folder,
            device,
            lambda: setup(recipe, device, progress=observer.on_preparation, init_run=init_run),
        )
        observer.on_data([*task.summary, *cautions(recipe, device)], task.tokens_per_epoch)
        run, recipe = _open_run(folder, task, device, init_run)
        with run:
            longer = parallel.from_first(lambda: _extend(run, recipe, longer=longer))
            model = new_model(recipe, device, init_run)
            plan = TrainingPlan(
                run=run,
                stream=task.stream,
                validate=task.validate,
                settings=recipe.training,
                validation=recipe.validation,
                device=device,
                d_model=getattr(recipe.model, "d_model", 1),
                started=started,
                finish=finish,
                longer=longer,
            )
            reporting = _ReportingObserver(run, observer, size_of(model), copy)
            training = Training(model, plan, reporting if parallel.first() else observer)
            check_training(training, folder)
            if parallel.first():
                run.write_recipe(recipe)
                run.record_kind(recipe.kind)
            if (init_run and not training.progress.step) or longer:
                training.save()  # so that the run resumes from these weights even without --init or --longer
            observer.on_start(recipe, model, device, training.progress.step)
            outcome = training.fit()
            if parallel.first():
                _finish_run(run, task, size_of(model), outcome)
            return outcome


@contextmanager
def _mirror_run(folder: Path, address: str | None) -> Iterator[Mirror | None]:
    """Fetch the run from its mirror, if it has one and no folder yet; push it after the block."""
    copy = Mirror(address, folder) if address and parallel.first() else None
    if copy:
        copy.fetch()
    yield copy
    if copy:
        copy.push()


def _use_machine(settings: OptimisationSettings) -> torch.device:
    """Set the process's memory and threads; return the device."""
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    return hardware.pick_device(settings.device)


def default_folder(recipe: Recipe[Settings]) -> Path:
    """Return the default run folder of a recipe; its name contains a hash of the settings."""
    return Path("runs") / f"{recipe.name}-{recipe_hash(recipe)}"


def _open_run(
    folder: Path, task: TaskSetup, device: torch.device, init_run: Run | None
) -> tuple[Run, Recipe[Settings]]:
    """Return the run folder, locked by the first process, and the recipe to train by.

    The folder is new, or has the same settings, data and initial weights.
    """
    run: Run = FollowingRun(folder)
    recipe = task.recipe
    if parallel.first() and not Run.exists(folder):
        recipe = with_horizon(recipe)
        files = file_hashes(task.files)
        init = weights_hash(init_run)
        data = {"files": files, "fingerprint": task.fingerprint, INIT: init, **task.data}
        precision = hardware.training_precision(recipe.training.precision, device)
        facts = with_processes(environment(data, products=precision), recipe.training)
        run = Run.create(folder, recipe, task.tokenizers, facts)
    elif parallel.first():
        run = Run.open(folder).lock()
        try:
            recipe = check_resumed(run, task, init_run)
        except BaseException:
            run.close()
            raise
    return run, recipe_of_first(lambda: recipe)


def _extend(run: Run, recipe: Recipe[Settings], *, longer: bool) -> bool:
    """Go back to before the cool-down, if more steps or minutes than before are given, or ``longer``."""
    before, now = run.recipe.training, recipe.training
    raised = now.steps > before.steps or now.minutes > before.minutes > 0
    return (longer or raised) and go_back(run, before, now)


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


def _finish_run(run: Run, task: TaskSetup, parameters: int, outcome: Outcome) -> None:
    """Write the reports, and the further files of a finished run."""
    finished = outcome.status == "finished"
    write_reports(run, parameters, task.attention_maps if finished else None)
    if finished:
        _write_further_files(run, task)


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
