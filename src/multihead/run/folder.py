"""The run folder: everything that a training writes and everything after it reads.

``runs/<name>/``: recipe.toml, environment.json, tokenizer*.json, model.json, model.safetensors,
metrics.jsonl, samples.txt, curves.svg, checkpoints/. It can be copied to another machine.
"""

import json
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from multihead import models
from multihead.errors import UserError
from multihead.recipe import Recipe, from_toml, to_toml
from multihead.run import files, journal, tensors
from multihead.run.lock import Lock
from multihead.settings import Settings
from multihead.text.tokenizer import Tokenizer

FORMAT = 1
"""Version of the folder's layout, in model.json; a newer one is refused."""

RECIPE, MODEL, WEIGHTS = "recipe.toml", "model.json", "model.safetensors"
STATES_KEPT = 2
"""Training states on disk: the newest, and the one before it should the newest be unreadable."""


class Run:
    """A run folder. Reading needs nothing; writing needs the lock that ``create`` and ``lock`` take.

    A ``Run`` is a context manager: leaving it lets the lock go.
    """

    def __init__(self, folder: Path, lock: Lock | None = None) -> None:
        self.folder = folder
        self._lock = lock

    # --- beginning and end ------------------------------------------------------------------------

    @staticmethod
    def exists(folder: str | Path) -> bool:
        """Tell whether there is a run in a folder."""
        return (Path(folder) / RECIPE).is_file()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        recipe: Recipe[Settings],
        tokenizers: tuple[Tokenizer, Tokenizer],
        environment: Mapping[str, Any],
    ) -> Self:
        """Make a run folder, locked for writing.

        Args:
            folder: a new or empty folder, or one whose making was cut off.
            recipe: with the model's vocabulary sizes filled in.
            tokenizers: of the source and of the target, the same object where they share a vocabulary.
            environment: from ``run.environment``.

        Raises:
            UserError: there is a run or something else in the folder; it cannot be written.
        """
        path = Path(folder)
        files.make_folder(path)
        run = cls(path, Lock(path))
        try:
            run._begin(recipe, tokenizers, environment)
        except BaseException:
            run.close()
            raise
        return run

    def _begin(
        self,
        recipe: Recipe[Settings],
        tokenizers: tuple[Tokenizer, Tokenizer],
        environment: Mapping[str, Any],
    ) -> None:
        if self.exists(self.folder):
            raise UserError("there is a run in this folder already", place=str(self.folder))
        source, target = tokenizers
        named = {"": source} if source is target else {".source": source, ".target": target}
        contents = {f"tokenizer{name}.json": tokenizer.to_json() for name, tokenizer in named.items()}
        contents["environment.json"] = _json(environment)
        contents[MODEL] = _json(
            {
                "format": FORMAT,
                "versions": {name: metadata.version(name) for name in ("multihead", "torch")},
                "kind": recipe.kind,
                "settings": recipe.model.model_dump(),
            }
        )
        # The recipe comes last: a folder that has one is complete.
        contents[RECIPE] = to_toml(recipe)
        own = {*contents, ".lock", "checkpoints"}
        foreign = sorted(
            path.name for path in self.folder.iterdir() if path.name.removesuffix(files.TEMPORARY) not in own
        )
        if foreign:
            raise UserError(
                f"not a run folder, and not empty ({', '.join(foreign[:3])})",
                place=str(self.folder),
                remedy="Name a new folder.",
            )
        files.make_folder(self._checkpoints)
        for name, text in contents.items():
            files.write_text(self.folder / name, text)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Return the run in a folder, for reading.

        Raises:
            UserError: not a run folder; made by a newer version.
        """
        path = Path(folder)
        run = cls(path)
        if not path.is_dir():
            raise UserError("no such run folder", place=str(path), remedy="`multihead train` makes one.")
        for name in (RECIPE, MODEL):
            if not (path / name).is_file():
                raise UserError(
                    f"not a run folder (no {name} in it)",
                    place=str(path),
                    remedy="Name the folder that `multihead train` wrote.",
                )
        found = run._model_json["format"]
        if found > FORMAT:
            raise UserError(
                f"made by a newer multihead (folder format {found}, this version knows {FORMAT})",
                place=str(path),
                remedy="Update multihead.",
            )
        return run

    def lock(self) -> Self:
        """Take the right to write, and clear away what a crash left half-written.

        Raises:
            UserError: another training is writing here.
        """
        self._lock = Lock(self.folder)
        for folder in (self.folder, self._checkpoints):
            for partial in folder.glob(f"*{files.TEMPORARY}"):
                files.remove(partial)
        return self

    def close(self) -> None:
        """Let the lock go."""
        if self._lock:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- settings, tokenizers, model ----------------------------------------------------------------

    @property
    def recipe(self) -> Recipe[Settings]:
        """The run's recipe. Raises ``UserError`` where somebody has spoilt it."""
        path = self.folder / RECIPE
        return from_toml(_read(path), str(path))

    def write_recipe(self, recipe: Recipe[Settings]) -> None:
        """Replace the recipe, of a continued run."""
        files.write_text(self.folder / RECIPE, to_toml(recipe))

    @property
    def environment(self) -> dict[str, Any]:
        """What the run was made with."""
        return _read_json(self.folder / "environment.json")

    @property
    def _model_json(self) -> dict[str, Any]:
        path = self.folder / MODEL
        read = _read_json(path)
        wanted = {"format": int, "kind": str, "settings": dict}
        for key, kind in wanted.items():
            if not isinstance(read.get(key), kind):
                raise UserError(f'"{key}" is missing or of the wrong kind', place=str(path))
        return read

    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Return the tokenizers of source and target, the same object where they share a vocabulary."""
        joint = self.folder / "tokenizer.json"
        if joint.exists():
            both = Tokenizer.load(str(joint))
            return both, both
        source, target = (self.folder / f"tokenizer.{side}.json" for side in ("source", "target"))
        return Tokenizer.load(str(source)), Tokenizer.load(str(target))

    def load_model(self, device: torch.device | str = "cpu") -> nn.Module:
        """Return the trained model, in evaluation mode.

        Raises:
            UserError: not trained yet; weights and settings do not belong together; damaged files.
        """
        path = self.folder / WEIGHTS
        if not path.exists():
            raise UserError(
                "this run has no trained model yet", place=str(self.folder), remedy="Train it to its end."
            )
        described = self._model_json
        module = models.load(described["kind"])
        settings = module.Settings.model_validate(described["settings"])
        weights, _ = tensors.load(path)
        model: nn.Module = module.Model(settings)
        model.load_state_dict(weights)
        return model.to(device).eval()

    def save_model(self, weights: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write model.safetensors; ``meta`` says what the weights are (step, how chosen)."""
        tensors.save(self.folder / WEIGHTS, weights, meta)

    # --- checkpoints --------------------------------------------------------------------------------

    @property
    def _checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def _checkpoint(self, name: str) -> Path:
        return self._checkpoints / f"{name}.safetensors"

    def save_tensors(self, name: str, content: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write a checkpoint, whole or not at all.

        Args:
            name: without folder and ending; an old one of this name is replaced.
            content: tensors by name.
            meta: anything that JSON can hold.
        """
        tensors.save(self._checkpoint(name), content, meta)

    def load_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return a checkpoint's tensors and meta. Raises ``UserError`` where it is missing or damaged."""
        return tensors.load(self._checkpoint(name))

    def checkpoints(self) -> list[str]:
        """Return the names of all checkpoints, in alphabetical order."""
        return sorted(path.stem for path in self._checkpoints.glob("*.safetensors"))

    def remove(self, name: str) -> None:
        """Remove a checkpoint, if it is there."""
        files.remove(self._checkpoint(name))

    def save_state(self, step: int, content: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write the training state after a step, and remove the states before the last two."""
        self.save_tensors(_state(step), content, meta)
        for name in self._states()[:-STATES_KEPT]:
            self.remove(name)

    def _states(self) -> list[str]:
        return [name for name in self.checkpoints() if name.startswith("state-")]

    def load_state(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the newest training state that can be read, None before the first.

        Raises:
            UserError: there are states, and none of them can be read.
        """
        failed: UserError | None = None
        for name in reversed(self._states()):
            try:
                return self.load_tensors(name)
            except UserError as error:
                failed = failed or error
        if failed:
            raise failed
        return None

    # --- what is told of a run ----------------------------------------------------------------------

    def log(self, event: Mapping[str, Any]) -> None:
        """Append an event to metrics.jsonl."""
        journal.append(self.folder / "metrics.jsonl", journal.to_line(event))

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Yield the events of metrics.jsonl in order."""
        return journal.events(self.folder / "metrics.jsonl")

    def add_samples(self, step: int, text: str) -> None:
        """Append the translations of a validation to samples.txt."""
        journal.append(self.folder / "samples.txt", journal.to_block(step, text))

    def truncate_after(self, step: int) -> None:
        """Forget what was told of later steps, which will be told again."""
        journal.truncate_events(self.folder / "metrics.jsonl", step)
        journal.truncate_blocks(self.folder / "samples.txt", step)

    def write_text(self, name: str, text: str) -> None:
        """Write another file of the run (curves.svg, report.html), whole or not at all."""
        files.write_text(self.folder / name, text)


def _state(step: int) -> str:
    return f"state-{step:010}"


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read ({error})", place=str(path)) from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(_read(path))
    except ValueError as error:
        raise UserError(f"not JSON ({error})", place=str(path)) from None
    if not isinstance(read, dict):
        raise UserError("not a JSON object", place=str(path))
    return read
