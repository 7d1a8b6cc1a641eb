"""The run folder: everything that training writes and that all later commands read.

``runs/<name>/``: recipe.toml, environment.json, tokenizer*.json, model.json, manifest.json,
model.safetensors, metrics.jsonl, samples.txt, curves.svg, report.html, checkpoints/. It can be copied to
another machine. Every file that decides a result is compared with its checksum when it is read;
``run.manifest`` says where each checksum is.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.recipe import Recipe, model_kinds, tasks
from multihead.recipe.settings import Settings
from multihead.run import files, manifest, model_file, tensors, vocabulary
from multihead.run.checkpoints import BEST, CheckpointFolder
from multihead.run.environment import check as check_environment
from multihead.run.lock import NAME as LOCK
from multihead.run.lock import Lock
from multihead.run.manifest import Manifest
from multihead.run.model_json import refuse_lost_manifest
from multihead.run.names import ENVIRONMENT, MODEL, RECIPE, WEIGHTS
from multihead.run.origin import Origin, fingerprint, identity
from multihead.run.records import Records
from multihead.system import plugins
from multihead.text.changed_kinds import not_kept
from multihead.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

STATE_MODEL = "model."
"""Prefix of the model's weights in a training state."""
FINISH = ".finish"
"""A file of this name asks the training to end."""

LOG = logging.getLogger(__name__)


class Run(CheckpointFolder, Records):
    """A run folder. Reading needs nothing; writing needs the lock, which ``create`` and ``lock`` take.

    A ``Run`` is a context manager: leaving it releases the lock, as the end of the process does.
    """

    def __init__(self, folder: Path, lock: Lock | None = None) -> None:
        super().__init__(folder / "checkpoints")
        self.folder = folder
        self._lock = lock

    # --- beginning and end ------------------------------------------------------------------------

    @staticmethod
    def exists(folder: str | Path) -> bool:
        """Return whether there is a run in a folder."""
        return (Path(folder) / RECIPE).is_file()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        recipe: Recipe[Settings],
        tokenizers: Sequence[Tokenizer],
        environment: Mapping[str, Any],
    ) -> Self:
        """Make a run folder, locked for writing.

        Args:
            folder: new or empty, or one whose creation was cut off.
            recipe: with the model's vocabulary sizes filled in (``recipe.with_vocabularies``).
            tokenizers: source and target tokenizer, the same object if they share a vocabulary; one
                if there are no two sides, none if there is no text.
            environment: from ``run.environment``.

        Raises:
            UserError: there is a run or something else in the folder; it cannot be written.
        """
        contents = vocabulary.contents(tokenizers)
        contents[ENVIRONMENT] = _to_json(environment)
        prints = [fingerprint(tokenizer.to_json()) for tokenizer in tokenizers]
        origin = Origin(identity(recipe, prints, environment.get("data", {})), tuple(prints))
        sizes = [tokenizer.vocab_size for tokenizer in tokenizers]
        contents[MODEL] = _to_json(model_file.description(recipe, sizes, origin))
        contents[RECIPE] = recipes.to_toml(recipe)
        path = Path(folder)
        files.make_folder(path)
        run = cls(path, Lock(path))
        try:
            run._refuse_others({*contents, manifest.NAME, "checkpoints", LOCK})
            files.make_folder(run.checkpoint_folder)
            # The recipe comes last: a folder that has one is complete.
            for name in [name for name in contents if name != RECIPE]:
                files.write_text(path / name, contents[name])
            Manifest.of(contents, list(dict.fromkeys(prints))).save(path)
            files.write_text(path / RECIPE, contents[RECIPE])
        except BaseException:
            run.close()
            raise
        return run

    def _refuse_others(self, own: set[str]) -> None:
        if self.exists(self.folder):
            raise UserError("there is a run in this folder already", place=str(self.folder))
        files.remove_temporary_folders(self.folder)
        others = sorted({path.name for path in self.folder.iterdir()} - own)
        if others:
            fact = f"neither empty nor a run folder ({', '.join(others[:3])} in it)"
            raise UserError(fact, place=str(self.folder), remedy="Name a new folder.")

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Return the run in a folder, for reading.

        Raises:
            UserError: not a run folder; made by a newer version; its model.json or manifest.json is damaged.
        """
        path = Path(folder)
        if not path.is_dir():
            raise UserError("no such run folder", place=str(path), remedy="`multihead train` makes one.")
        for name in (RECIPE, MODEL):
            if not (path / name).is_file():
                remedy = "Name the folder that `multihead train` wrote."
                raise UserError(f"not a run folder (no {name} in it)", place=str(path), remedy=remedy)
        refuse_lost_manifest(path)  # and a newer format
        manifest.check(path, MODEL)
        return cls(path)

    @property
    def origin(self) -> Origin:
        """The training that this run's checkpoints come from; empty for a run of version 0.1.0."""
        return model_file.origin(self.folder / MODEL) if (self.folder / MODEL).exists() else Origin()

    @property
    def sealed(self) -> bool:
        """True if all files have checksums; those of version 0.1.0 have none."""
        return (self.folder / manifest.NAME).exists()

    def _whole(self, name: str) -> Path:
        """Return the path of a file that manifest.json covers. Raises ``UserError`` if it is damaged."""
        manifest.check(self.folder, name)
        return self.folder / name

    def lock(self) -> Self:
        """Take the right to write, and remove or finish what a crash left half-written.

        Raises:
            UserError: another training is writing here.
        """
        self._lock = Lock(self.folder)
        files.make_folder(self.checkpoint_folder)
        files.remove_temporary_folders(self.folder)
        files.remove_temporary_folders(self.checkpoint_folder)
        if manifest := Manifest.load(self.folder):
            manifest.settle(self.folder)
        return self

    def locked(self) -> bool:
        """Return True if a training is writing here."""
        try:
            Lock(self.folder).release()
        except UserError:
            return True
        return False

    def close(self) -> None:
        """Release the lock."""
        if self._lock:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- settings, tokenizers, model ----------------------------------------------------------------

    @property
    def recipe(self) -> Recipe[Settings]:
        """The run's recipe. Raises ``UserError`` if it is damaged."""
        return recipes.load(self._whole(RECIPE))

    def write_recipe(self, recipe: Recipe[Settings]) -> None:
        """Replace the recipe of a run that is resumed with other settings."""
        self._replace(RECIPE, recipes.to_toml(recipe))

    def _replace(self, name: str, text: str) -> None:
        """Replace a file that manifest.json covers; one that holds the text already is left alone."""
        if (self.folder / name).read_bytes() == text.encode():
            return
        if manifest := Manifest.load(self.folder):
            manifest.replace(self.folder, name, text)
        else:
            files.write_text(self.folder / name, text)

    @property
    def task(self) -> str:
        """The task that the run's model is trained for, one of the registered tasks.

        Raises:
            UserError: the model is not known, or a Python file that the user has not named.
        """
        described = model_file.read(self.folder / MODEL)
        model_file.load_module(described, self.folder)
        task = model_kinds.task(described["kind"])
        if plugins.is_record(task) and isinstance(recorded := described.get("task"), str):
            plugins.warn_of_change(recorded, task)
        return task

    def record_kind(self, kind: str) -> None:
        """Record the Python file that training is resumed with, if it has changed; keep the old record."""
        described = model_file.read(self.folder / MODEL)
        if (before := described["kind"]) != kind:
            earlier = [*described.get("earlier_kinds", []), before]
            self._replace(MODEL, _to_json({**described, "kind": kind, "earlier_kinds": earlier}))

    def fit_for(self, task: str) -> Self:
        """Return this run if its model is trained for a task.

        Raises:
            UserError: its model is trained for something else; the command that uses it is named.
        """
        if (actual := self.task) != task:
            kind = plugins.display_name(model_file.read(self.folder / MODEL)["kind"])
            command = tasks.get_task(actual).use
            raise UserError(
                f'its model is a "{kind}", trained for {tasks.get_task(actual).work} '
                f"and not for {tasks.get_task(task).work}",
                place=str(self.folder),
                remedy=f"Use it with `multihead {command.format(run=self.folder)}`." if command else None,
            )
        return self

    @property
    def environment(self) -> dict[str, Any]:
        """Content of environment.json. Raises ``UserError`` if it is damaged."""
        environment = model_file.read_json(self._whole(ENVIRONMENT))
        check_environment(environment, self.folder / ENVIRONMENT)
        return environment

    @property
    def _data(self) -> Mapping[str, Any]:
        """The section "data" of environment.json; empty for an early run, which may lack the file."""
        manifest.check_listed(self.folder, (ENVIRONMENT,))
        return self.environment["data"] if (self.folder / ENVIRONMENT).exists() else {}

    @property
    def directions(self) -> list[tuple[str, str]]:
        """The (source, target) languages of a translator of several directions, empty for any other.

        Raises:
            UserError: environment.json, which names them, is damaged or missing.
        """
        return [(source, target) for source, target in self._data.get("directions", [])]

    @property
    def trained_symbols(self) -> tuple[str, ...]:
        """Reserved symbols that the training pairs had, see ``data.marking``; none for older runs.

        Raises:
            UserError: environment.json, which names them, is damaged or missing.
        """
        return tuple(self._data.get("symbols", []))

    @property
    def changed_kinds(self) -> tuple[str, ...]:
        """Kinds and shapes of placeholders that the training's targets change, see ``text.changed_kinds``.

        Raises:
            UserError: environment.json, which names them, is damaged or missing.
        """
        return not_kept(self._data) if self._data else ()

    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Return the tokenizers of source and target, the same object if they share a vocabulary.

        Raises:
            UserError: a tokenizer is missing, damaged, or not the one that the model was trained with.
        """
        described = model_file.read(self.folder / MODEL)
        manifest = Manifest.load(self.folder)
        prints = self.origin.tokenizers or (manifest.tokenizers if manifest else ())
        return vocabulary.load(self.folder, described["vocabularies"], prints)

    @property
    def has_model(self) -> bool:
        """True if there is a trained model."""
        return (self.folder / WEIGHTS).exists()

    def load_model(self, device: "torch.device | str" = "cpu") -> "nn.Module":
        """Return the trained model, in evaluation mode; the best checkpoint so far of an unfinished run.

        That a run is not finished is logged as a warning.

        Raises:
            UserError: not trained yet; weights and settings do not belong together; damaged files.
        """
        path = self.folder / WEIGHTS
        if not self.has_model:
            return self._load_unfinished(device)
        return model_file.load(self._whole(MODEL), path, device, sealed=self.sealed)

    def _load_unfinished(self, device: "torch.device | str") -> "nn.Module":
        """Return the best checkpoint so far, or the newest state, of a run that is not finished."""
        for name, prefix in ((BEST, ""), *((state, STATE_MODEL) for state in reversed(self.states()))):
            path = self.checkpoint_folder / f"{name}.safetensors"
            if not path.exists():
                continue
            try:
                model = model_file.load(self._whole(MODEL), path, device, sealed=self.sealed, prefix=prefix)
                step = tensors.load(path)[1].get("step")
            except UserError:
                if path.exists():
                    raise
                continue  # a training has replaced it meanwhile
            which = "the best checkpoint so far" if name == BEST else "the newest state, not validated yet"
            LOG.warning("%s: this training is not finished; using %s (step %s)", self.folder, which, step)
            return model
        remedy = "Wait for its first validation; `multihead train` with the same settings resumes it."
        raise UserError("this run has no trained model yet", place=str(self.folder), remedy=remedy)

    def save_model(self, weights: "Mapping[str, Tensor]", meta: Mapping[str, Any]) -> None:
        """Write model.safetensors; ``meta`` describes the weights (step, how they were chosen)."""
        tensors.save(self.folder / WEIGHTS, weights, meta, self.origin)

    def model_fault(self) -> str:
        """Return why model.safetensors cannot be used: missing, damaged, another run's; "" if it can."""
        path = self.folder / WEIGHTS
        try:
            with tensors.reading(path) as content:
                content.check(self.origin, path, sealed=self.sealed)
        except UserError as error:
            return f"{path}: {error.fact}"
        return ""

    # --- a request to end ---------------------------------------------------------------------------

    def ask_to_finish(self) -> None:
        """Ask the training that writes here to end."""
        files.write_text(self.folder / FINISH, "")

    @property
    def finish_asked(self) -> bool:
        """True if the training was asked to end, and has not ended."""
        return (self.folder / FINISH).exists()

    def forget_finish(self) -> None:
        """Remove the request to end, which was met."""
        files.remove(self.folder / FINISH)

    def write_further(self, name: str, text: str) -> None:
        """Write a file of a finished run that its manifest covers from now on."""
        if manifest := Manifest.load(self.folder):
            manifest.replace(self.folder, name, text)
        else:
            files.write_text(self.folder / name, text)

    def write_text(self, name: str, text: str) -> None:
        """Write another file of the run (curves.svg, report.html), whole or not at all."""
        files.write_text(self.folder / name, text)


def _to_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
