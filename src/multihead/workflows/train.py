"""From a recipe to a trained run folder."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from multihead import hardware, models, randomness
from multihead.errors import UserError
from multihead.inspect.curves import draw_curves
from multihead.inspect.report import AlignedSentence, training_page
from multihead.recipe import Recipe, recipe_hash, refuse_at_once, resumed, with_horizon
from multihead.run import Run
from multihead.run.environment import environment, file_hashes
from multihead.run.files import check_place
from multihead.settings import Settings
from multihead.training import Observer as TrainingObserver
from multihead.training import Outcome, Training
from multihead.workflows.tasks import Ready, ready


class Observer(TrainingObserver, Protocol):
    """Who is told how it goes, from the corpus on."""

    def preparing(self, stage: str, done: int, total: int | None) -> None:
        """Say how far the preparation of the corpus has come."""
        ...

    def prepared(self, told: Sequence[str], tokens_an_epoch: int) -> None:
        """The data is ready: what there is to tell of it, a line each, and how much an epoch has of it."""
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
    check_place(folder)
    settings = recipe.training
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    device = hardware.pick_device(settings.device)
    if Run.exists(folder):
        refuse_at_once(Run.open(folder).recipe, recipe, place=str(folder))
    products = hardware.format_in_training(settings.precision, device)
    beginning = Run.open(init) if init else None
    made = ready(recipe, device, progress=observer.preparing, beginning=beginning)
    observer.prepared(made.told, made.tokens_an_epoch)
    with _opened(folder, made, products) as run:
        recipe = run.recipe
        model = new_model(recipe, device, beginning)
        training = Training(
            run=run,
            model=model,
            stream=made.stream,
            validate=made.validate,
            observer=_Drawing(run, observer, size_of(model)),
            settings=recipe.training,
            validation=recipe.validation,
            d_model=getattr(recipe.model, "d_model", 1),
            device=device,
        )
        if beginning and not training.progress.step:
            training.save()  # so that the same run goes on from these weights, whatever it is started with
        observer.begins(recipe, model, device, training.progress.step)
        outcome = training.fit()
        draw(run, size_of(model), made.look if outcome.how == "finished" else None)
        return outcome


def default_folder(recipe: Recipe[Settings]) -> Path:
    """Return the run folder of a recipe for which none was named; other settings have another."""
    return Path("runs") / f"{recipe.name}-{recipe_hash(recipe)}"


def new_model(recipe: Recipe[Settings], device: torch.device, beginning: Run | None = None) -> nn.Module:
    """Return the recipe's model as training finds it: initialised from the seed, or from another run.

    Raises:
        UserError: the other run's model has other sizes.
    """
    with randomness.at(recipe.training.seed, "initialise"):
        model: nn.Module = models.load(recipe.kind).Model(recipe.model)
    if beginning:
        trained = beginning.load_model().state_dict()
        # A model may say which of another's weights it takes, and begin with its own besides.
        if hasattr(model, "taken_from"):
            trained = {**model.state_dict(), **model.taken_from(trained)}  # type: ignore[operator]
        there, here = (_shapes(weights) for weights in (trained, model.state_dict()))
        if there != here:
            name = next(name for name in {**there, **here} if there.get(name) != here.get(name))
            other = f"{name}: {there.get(name, 'nothing')}, here {here.get(name, 'nothing')}"
            raise UserError(
                f"its model has other sizes than this recipe's ({other})",
                place=str(beginning.folder),
                remedy="Give the same [model] settings, or no recipe: the run's own are then taken.",
            )
        model.load_state_dict(trained)
    return model.to(device)


def _shapes(weights: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in weights.items()}


def _opened(folder: Path, made: Ready, products: str) -> Run:
    """Return the run folder, locked: made now, or found with the same settings and the same data."""
    if not Run.exists(folder):
        data = {"files": file_hashes(made.files), "fingerprint": made.fingerprint, **made.data}
        found = environment(data, products=products)
        return Run.create(folder, with_horizon(made.recipe), made.tokenizers, found)
    run = Run.open(folder).lock()
    try:
        recipe = resumed(run.recipe, made.recipe, place=str(folder))
        if run.environment["data"].get("fingerprint") != made.fingerprint:
            fact = (
                "this run was started with other data (the files' contents, or how they are prepared, differ)"
            )
            remedy = "Bring the old files back, or give another --run folder."
            raise UserError(fact, place=str(folder), remedy=remedy)
        run.write_recipe(recipe)
    except BaseException:
        run.close()
        raise
    return run


def size_of(model: nn.Module) -> int:
    """Return how many parameters a model has, shared ones counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def draw(
    run: Run, parameters: int, look: Callable[[nn.Module], Sequence[AlignedSentence]] | None = None
) -> None:
    """Write curves.svg and report.html of a run; where that fails, say so: they are not worth a training.

    Args:
        run: locked.
        parameters: of the model.
        look: shows where the trained model looks, see ``Ready``.
    """
    try:
        draw_curves(run.metrics(), run.folder / "curves.svg")
        looked = look(run.load_model(hardware.pick_device(run.recipe.training.device))) if look else ()
        training_page(run, parameters, looked).save(run.folder / "report.html")
    except Exception as error:
        fact = f"curves.svg and report.html could not be written: {type(error).__name__}: {error}"
        warnings.warn(f"{run.folder}: {fact}", stacklevel=2)


DRAWN = 10
"""Drawing takes at most this part of the time: one tenth."""


class _Drawing:
    """Redraws the curves and the report at validations, now and then, and tells the other observer."""

    def __init__(self, run: Run, observer: TrainingObserver, parameters: int) -> None:
        self.run, self.observer, self.parameters = run, observer, parameters
        self._next = 0.0

    def stepped(self, step: int) -> None:
        self.observer.stepped(step)

    def updated(self, event: dict[str, Any]) -> None:
        self.observer.updated(event)

    def validated(self, event: dict[str, Any], samples: str) -> None:
        began = time.monotonic()
        if began >= self._next:
            draw(self.run, self.parameters)
            ended = time.monotonic()
            self._next = ended + DRAWN * (ended - began)
        self.observer.validated(event, samples)
