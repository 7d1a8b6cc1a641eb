"""The run folder: everything that a training writes and everything after it reads.

``runs/<name>/``: recipe.toml, environment.json, tokenizer*.json, model.json, model.safetensors,
metrics.jsonl, samples.txt, curves.svg, report.html, checkpoints/. It can be copied to another machine.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from multihead import disk, models, plugins
from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.run import files, journal, model_file, tensors
from multihead.run.checkpoints import Checkpoints
from multihead.run.environment import check as check_environment
from multihead.run.lock import NAME as LOCK
from multihead.run.lock import Lock
from multihead.settings import Settings, tasks
from multihead.text.tokenizer import Tokenizer

RECIPE, MODEL, WEIGHTS, ENVIRONMENT = "recipe.toml", "model.json", "model.safetensors", "environment.json"
TOKENIZERS = "tokenizer_files"
"""Entry of model.json: the SHA-256 of each tokenizer's file."""
METRICS, SAMPLES = "metrics.jsonl", "samples.txt"


class Run(Checkpoints):
    """A run folder. Reading needs nothing; writing needs the lock, which ``create`` and ``lock`` take.

    A ``Run`` is a context manager: leaving it lets the lock go, as the end of the process does.
    """

    def __init__(self, folder: Path, lock: Lock | None = None) -> None:
        super().__init__(folder / "checkpoints")
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
        tokenizers: Sequence[Tokenizer],
        environment: Mapping[str, Any],
    ) -> Self:
        """Make a run folder, locked for writing.

        Args:
            folder: new or empty, or one whose making was cut off.
            recipe: with the model's vocabulary sizes filled in (``recipe.with_vocabularies``).
            tokenizers: of the source and of the target, the same object where they share a vocabulary; one
                where there are no two sides, none where there is no text.
            environment: from ``run.environment``.

        Raises:
            UserError: there is a run or something else in the folder; it cannot be written.
        """
        different = {tokenizer.fingerprint: tokenizer for tokenizer in tokenizers}.values()
        sides = ("",) if len(different) < 2 else (".source", ".target")
        contents = {
            f"tokenizer{side}.json": tokenizer.to_json()
            for side, tokenizer in zip(sides, different, strict=False)
        }
        contents[ENVIRONMENT] = _to_json(environment)
        sizes = [tokenizer.vocab_size for tokenizer in tokenizers]
        hashes = {name: _sha256(text.encode()) for name, text in contents.items() if name != ENVIRONMENT}
        contents[MODEL] = _to_json({**model_file.description(recipe, sizes), TOKENIZERS: hashes})
        # The recipe comes last: a folder that has one is complete.
        contents[RECIPE] = recipes.to_toml(recipe)
        path = Path(folder)
        files.make_folder(path)
        run = cls(path, Lock(path))
        try:
            run._refuse_others({*contents, "checkpoints", LOCK})
            files.make_folder(run.checkpoint_folder)
            for name, text in contents.items():
                files.write_text(path / name, text)
        except BaseException:
            run.close()
            raise
        return run

    def _refuse_others(self, own: set[str]) -> None:
        if self.exists(self.folder):
            raise UserError("there is a run in this folder already", place=str(self.folder))
        files.clear(self.folder)
        others = sorted({path.name for path in self.folder.iterdir()} - own)
        if others:
            fact = f"neither empty nor a run folder ({', '.join(others[:3])} in it)"
            raise UserError(fact, place=str(self.folder), remedy="Name a new folder.")

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Return the run in a folder, for reading.

        Raises:
            UserError: not a run folder; made by a newer version.
        """
        path = Path(folder)
        if not path.is_dir():
            raise UserError("no such run folder", place=str(path), remedy="`multihead train` makes one.")
        for name in (RECIPE, MODEL):
            if not (path / name).is_file():
                remedy = "Name the folder that `multihead train` wrote."
                raise UserError(f"not a run folder (no {name} in it)", place=str(path), remedy=remedy)
        model_file.read(path / MODEL)  # refuses a newer format
        return cls(path)

    def lock(self) -> Self:
        """Take the right to write, and clear away what a crash left half-written.

        Raises:
            UserError: another training is writing here.
        """
        self._lock = Lock(self.folder)
        files.make_folder(self.checkpoint_folder)
        files.clear(self.folder)
        files.clear(self.checkpoint_folder)
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
        return recipes.load(self.folder / RECIPE)

    def write_recipe(self, recipe: Recipe[Settings]) -> None:
        """Replace the recipe, of a run that is continued with other settings."""
        files.write_text(self.folder / RECIPE, recipes.to_toml(recipe))

    @property
    def task(self) -> str:
        """The task that the run's model is trained for, one of ``settings.tasks``.

        Raises:
            UserError: the model is not known, or a Python file that the user has not named.
        """
        described = model_file.read(self.folder / MODEL)
        model_file.load_module(described, self.folder)
        found = models.task(described["kind"])
        if plugins.is_record(found) and isinstance(recorded := described.get("task"), str):
            plugins.warn_of_change(recorded, found)
        return found

    def record_kind(self, kind: str) -> None:
        """Record the Python file that training is resumed with, if it has changed; keep the old record."""
        described = model_file.read(self.folder / MODEL)
        if (before := described["kind"]) != kind:
            earlier = [*described.get("earlier_kinds", []), before]
            files.write_text(
                self.folder / MODEL, _to_json({**described, "kind": kind, "earlier_kinds": earlier})
            )

    def fit_for(self, task: str) -> Self:
        """Return this run where it is one of a task.

        Raises:
            UserError: its model is trained for something else; the command that uses it is named.
        """
        if (own := self.task) != task:
            kind = plugins.shown(model_file.read(self.folder / MODEL)["kind"])
            command = tasks.use(own)
            raise UserError(
                f'its model is a "{kind}", trained for {tasks.work(own)} and not for {tasks.work(task)}',
                place=str(self.folder),
                remedy=f"Use it with `multihead {command.format(run=self.folder)}`." if command else None,
            )
        return self

    @property
    def environment(self) -> dict[str, Any]:
        """What the run was made with. Raises ``UserError`` where environment.json is damaged."""
        found = model_file.read_json(self.folder / ENVIRONMENT)
        check_environment(found, self.folder / ENVIRONMENT)
        return found

    @property
    def directions(self) -> list[tuple[str, str]]:
        """The (source, target) languages of a translator of several directions, empty for any other.

        Raises:
            UserError: environment.json, which names them, is damaged.
        """
        if not (self.folder / ENVIRONMENT).exists():
            return []
        return [(source, target) for source, target in self.environment["data"].get("directions", [])]

    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Return the tokenizers of source and target, the same object where they share a vocabulary.

        Raises:
            UserError: a tokenizer is missing, damaged, or not the one that the model was made for.
        """
        joint = self.folder / "tokenizer.json"
        sides = [self.folder / f"tokenizer.{side}.json" for side in ("source", "target")]
        if joint.exists():
            source = target = Tokenizer.load(joint)
        elif all(side.exists() for side in sides):
            source, target = (Tokenizer.load(side) for side in sides)
        else:
            fact = "its tokenizer is missing (tokenizer.json)"
            raise UserError(fact, place=str(self.folder), remedy="Copy the run folder again as a whole.")
        sizes = [source.vocab_size, target.vocab_size]
        described = model_file.read(self.folder / MODEL)
        wanted = described["vocabularies"]
        if sizes[: len(wanted)] != wanted:
            fact = f"tokenizers of {sizes} pieces, but the model was made for {wanted}"
            raise UserError(fact, place=str(self.folder), remedy="Copy the run folder again as a whole.")
        self._check_tokenizers(described.get(TOKENIZERS))
        return source, target

    def _check_tokenizers(self, recorded: object) -> None:
        """Refuse a tokenizer of the right size whose ids stand for other pieces than in training."""
        for name, sha256 in recorded.items() if isinstance(recorded, dict) else ():
            path = self.folder / Path(str(name)).name
            if not path.is_file() or _sha256(disk.content(path)) != sha256:
                fact = "not the tokenizer that the model was trained with"
                raise UserError(fact, place=str(path), remedy="Copy the run folder again as a whole.")

    def load_model(self, device: torch.device | str = "cpu") -> nn.Module:
        """Return the trained model, in evaluation mode.

        Raises:
            UserError: not trained yet; weights and settings do not belong together; damaged files.
        """
        path = self.folder / WEIGHTS
        if not path.exists():
            remedy = "`multihead train` with the same settings goes on with it."
            raise UserError("this run has no trained model yet", place=str(self.folder), remedy=remedy)
        return model_file.load(self.folder / MODEL, path, device)

    def save_model(self, weights: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write model.safetensors; ``meta`` says what the weights are (step, how chosen)."""
        tensors.save(self.folder / WEIGHTS, weights, meta)

    # --- what is told of a run ----------------------------------------------------------------------

    def log(self, event: Mapping[str, Any]) -> None:
        """Append an event to metrics.jsonl; its "step" says when."""
        journal.append(self.folder / METRICS, journal.to_line(event))

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Yield the events of metrics.jsonl in order."""
        return journal.events(self.folder / METRICS)

    def add_samples(self, step: int, text: str) -> None:
        """Append the translations of a validation to samples.txt."""
        journal.append(self.folder / SAMPLES, journal.to_block(step, text))

    def samples(self) -> Iterator[tuple[int, str]]:
        """Yield (step, samples) of each validation in samples.txt, in order."""
        return journal.blocks(self.folder / SAMPLES)

    def truncate_after(self, step: int) -> None:
        """Forget what was told of later steps, so that nothing is told twice when they come again."""
        journal.truncate_events(self.folder / METRICS, step)
        journal.truncate_blocks(self.folder / SAMPLES, step)

    def write_text(self, name: str, text: str) -> None:
        """Write another file of the run (curves.svg, report.html), whole or not at all."""
        files.write_text(self.folder / name, text)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _to_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
