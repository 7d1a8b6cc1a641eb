"""Observers of a training: its metrics in TensorBoard, MLflow or Weights & Biases.

Each is one small class, imported only if it is asked for. None of them can stop a training: a failure is a
warning, and the training continues without it.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.workflows.train import TrainObserver

Numbers = Mapping[str, float]


class Recorder(Protocol):
    """Receives a training's settings and numbers."""

    def start(self, settings: Mapping[str, object], step: int) -> None:
        """Called once with all settings by dotted key; ``step`` updates were made in earlier starts."""
        ...

    def record(self, step: int, numbers: Numbers) -> None:
        """Called with numbers by name: ``training/loss``, ``validation/bleu``."""
        ...

    def close(self) -> None:
        """Called at the end, also of an interrupted training."""
        ...


class TensorBoard:
    """Writes event files into a folder beside the run's: ``tensorboard --logdir runs``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.with_name(f"{folder.name}.tensorboard")
        self._make: Any = _import_module("torch.utils.tensorboard", "tensorboard").SummaryWriter
        self._writer: Any = None

    def start(self, settings: Mapping[str, object], step: int) -> None:
        """See :class:`Recorder`. Events after ``step`` are hidden: that part is trained again."""
        self._writer = self._make(str(self._folder), purge_step=step or None)
        table = "\n".join(
            ["| setting | value |", "| --- | --- |", *(f"| {k} | {v} |" for k, v in settings.items())]
        )
        self._writer.add_text("recipe", table, step)

    def record(self, step: int, numbers: Numbers) -> None:
        """See :class:`Recorder`."""
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """See :class:`Recorder`."""
        self._writer.close()


class MLflow:
    """Logs to MLflow at ``MLFLOW_TRACKING_URI``."""

    def __init__(self, folder: Path) -> None:
        self._name, self._library = folder.name, _import_module("mlflow", "mlflow-skinny")

    def start(self, settings: Mapping[str, object], step: int) -> None:
        """See :class:`Recorder`."""
        self._library.start_run(run_name=self._name)
        self._library.log_params({key: str(value)[:500] for key, value in settings.items()})

    def record(self, step: int, numbers: Numbers) -> None:
        """See :class:`Recorder`."""
        self._library.log_metrics(
            {name.replace(" ", "_"): value for name, value in numbers.items()}, step=step
        )

    def close(self) -> None:
        """See :class:`Recorder`."""
        self._library.end_run()


class WeightsAndBiases:
    """Logs to Weights & Biases; offline with ``WANDB_MODE=offline``."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._library = folder, _import_module("wandb", "wandb")
        self._run: Any = None

    def start(self, settings: Mapping[str, object], step: int) -> None:
        """See :class:`Recorder`."""
        self._run = self._library.init(
            project="multihead", name=self._folder.name, dir=str(self._folder.parent), config=dict(settings)
        )

    def record(self, step: int, numbers: Numbers) -> None:
        """See :class:`Recorder`."""
        self._run.log(dict(numbers), step=step)

    def close(self) -> None:
        """See :class:`Recorder`."""
        self._run.finish()


RECORDERS: Mapping[str, Callable[[Path], Recorder]] = {
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
    "wandb": WeightsAndBiases,
}
"""Recorders by the name that ``--observe`` gives them."""


def recorders(names: Sequence[str], folder: Path) -> list[Recorder]:
    """Return the recorders of a run folder.

    Raises:
        UserError: an unknown name, or a library that is not installed.
    """
    for name in names:
        if name not in RECORDERS:
            choices = ", ".join(RECORDERS)
            raise UserError(f"no such observer: {name}", place="--observe", remedy=f"One of: {choices}.")
    return [RECORDERS[name](folder) for name in dict.fromkeys(names)]


def _import_module(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        remedy = f"Run: pip install {package}"
        raise UserError(f"{package} is not installed ({error})", place="--observe", remedy=remedy) from error


class Observed:
    """An observer that passes events on, and their numbers to recorders.

    Args:
        observer: receives all events.
        recorders: receive the numbers.
    """

    def __init__(self, observer: TrainObserver, recorders: Sequence[Recorder]) -> None:
        self._observer, self._recorders = observer, list(recorders)

    def on_preparation(self, stage: str, done: int, total: int | None) -> None:
        """See ``workflows.train.Observer``."""
        self._observer.on_preparation(stage, done, total)

    def on_data(self, summary: Sequence[str], tokens_per_epoch: int) -> None:
        """See ``workflows.train.Observer``."""
        self._observer.on_data(summary, tokens_per_epoch)

    def on_start(self, recipe: Recipe[Settings], model: nn.Module, device: torch.device, step: int) -> None:
        """See ``workflows.train.Observer``."""
        self._each(lambda one: one.start(recipe.values(), step))
        self._observer.on_start(recipe, model, device, step)

    def on_step(self, step: int) -> None:
        """See ``training.Observer``."""
        self._observer.on_step(step)

    def on_log(self, event: dict[str, Any]) -> None:
        """See ``training.Observer``."""
        self._each(lambda one: one.record(event["step"], _numbers("training", event)))
        self._observer.on_log(event)

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        """See ``training.Observer``."""
        self._each(lambda one: one.record(event["step"], _numbers("validation", event)))
        self._observer.on_validation(event, samples)

    def close(self) -> None:
        """Close the recorders."""
        self._each(lambda one: one.close())

    def _each(self, call: Callable[[Recorder], None]) -> None:
        for recorder in list(self._recorders):
            try:
                call(recorder)
            except Exception as error:  # whatever another library raises must not end a training
                self._recorders.remove(recorder)
                fact = f"{type(recorder).__name__} failed and is left out from here on"
                warnings.warn(f"{fact}: {type(error).__name__}: {error}", stacklevel=2)
                with suppress(Exception):
                    recorder.close()


def _numbers(kind: str, event: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of an event by name, without its step."""
    return {
        f"{kind}/{name}": float(value)
        for name, value in event.items()
        if name != "step" and isinstance(value, int | float) and not isinstance(value, bool)
    }
