"""Verification of a whole run folder: the state of each file, and a remedy for each that is damaged."""

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.run import checked_tensors as sealed_file
from multihead.run import embedded_checksum as seal
from multihead.run import journal, manifest, model_file, search_record
from multihead.run.checkpoints import BEST, SCHEDULED, STATE, check_step, checkpoint_name
from multihead.run.environment import check as check_environment
from multihead.run.folder import Run
from multihead.run.lock import NAME as LOCK
from multihead.run.manifest import Manifest
from multihead.run.names import ENVIRONMENT, FURTHER, MODEL, RECIPE, WEIGHTS
from multihead.run.origin import Origin
from multihead.run.records import METRICS
from multihead.run.sanity_checks import LARGEST, check_numbers
from multihead.system.imports import is_installed
from multihead.text.tokenizer import Tokenizer

WHOLE, UNSUMMED, DAMAGED, MISSING, UNCOVERED = "whole", "no checksum", "damaged", "missing", "not covered"

BACKUP = "Copy it from a backup."
AGAIN = "`multihead train` with the same settings writes it again."
RESUMES = "Training resumes from an older state that is whole; if there is none, copy it from a backup."
WITHOUT = "The final weights are chosen without it; copy it from a backup if there is one."
CUT = "Training resumes all the same; reports lack these lines. Copy the file from a backup if there is one."
LINES = "Reports leave these lines out; copy the file from a backup if there is one."


class FileState(NamedTuple):
    """A file of a run folder.

    Attributes:
        file: its path in the folder.
        state: one of the five constants above.
        fact: what is wrong with it, or worth a note.
        remedy: what to do about it.
    """

    file: str
    state: str
    fact: str = ""
    remedy: str = ""

    @property
    def damaged(self) -> bool:
        """True if the run is not whole because of this file."""
        return self.state in (DAMAGED, MISSING)


def verify(folder: Path) -> list[FileState]:
    """Return the state of each file of a run folder. Nothing is written; a training may be running.

    Raises:
        UserError: no such folder; not a run folder; made by a newer version.
    """
    if not any((folder / name).exists() for name in (RECIPE, MODEL, manifest.NAME)):
        remedy = "Name the folder that `multihead train` wrote."
        raise UserError("not a run folder", place=str(folder), remedy=remedy)
    seal.CHECKED.clear()
    run = Run(folder)
    settled = list(_settle(folder))
    origin = run.origin if all(row.file != MODEL or not row.damaged for row in settled) else None
    progress: dict[str, Any] = {}
    paths = sorted(run.checkpoint_folder.glob("*.safetensors"))
    checkpoints = [_weights(run, path, origin, progress) for path in paths]
    named = [checkpoint_name(SCHEDULED, step) for step in progress.get("scheduled", ())]
    named += [BEST] if progress.get("best") is not None else []
    files = [f"{run.checkpoint_folder.name}/{name}.safetensors" for name in named]
    there = {row.file for row in checkpoints}
    missing = [FileState(file, MISSING, "", WITHOUT) for file in files if file not in there]
    rows = [
        *settled,
        *_model(run, origin),
        *checkpoints,
        *missing,
        *_metrics(run, progress, began=bool(named)),
    ]
    rows += _search(folder)
    listed = {row.file for row in rows} | {LOCK, run.checkpoint_folder.name}
    return rows + [
        FileState(path.name, UNCOVERED) for path in sorted(folder.iterdir()) if path.name not in listed
    ]


def _search(folder: Path) -> Iterator[FileState]:
    """Yield the row of search.json, if there is one."""
    if (folder / search_record.NAME).exists():
        whole = search_record.is_whole(folder)
        remedy = "Remove it; `multihead doctor RUN` writes it again."
        yield (
            FileState(search_record.NAME, WHOLE)
            if whole
            else FileState(search_record.NAME, DAMAGED, "altered", remedy)
        )


def checksums(folder: Path) -> str:
    """Return one line on a run's checksums, for ``multihead doctor``."""
    if (folder / manifest.NAME).exists():
        return "SHA-256 of every file that decides a result; `multihead verify RUN` checks them all"
    return "no checksums (made by version 0.1.0); `multihead verify RUN --write` adds them"


def settled_files(folder: Path) -> list[str]:
    """Return the names of the files that a manifest covers."""
    return [RECIPE, ENVIRONMENT, MODEL, *sorted(path.name for path in folder.glob("tokenizer*.json"))]


def _settle(folder: Path) -> Iterator[FileState]:
    """Yield the rows of manifest.json and of the files that it covers."""
    record = None
    try:
        record = Manifest.load(folder)
        if record:
            yield FileState(manifest.NAME, WHOLE)
        elif _has_checksums(folder):
            yield FileState(manifest.NAME, MISSING, "", manifest.REWRITE)
    except UserError as error:
        if error.remedy == manifest.UPDATE:
            raise
        yield FileState(manifest.NAME, DAMAGED, error.fact, manifest.REWRITE)
    for name in dict.fromkeys([*settled_files(folder), *(record.files if record else ())]):
        fault = record.fault(folder, name) if record else ""
        if fault or not (folder / name).exists():
            state, fact = (DAMAGED, fault) if (folder / name).exists() else (MISSING, "")
            yield FileState(name, state, fact, manifest.REWRITE if record else BACKUP)
            continue
        try:
            # A manifest of an earlier version may list files that nothing reads any more.
            other = Tokenizer.load if name.startswith("tokenizer") else model_file.read_json
            READERS.get(name, other)(folder / name)
        except UserError as error:
            if error.remedy == manifest.UPDATE:
                raise
            yield FileState(name, DAMAGED, error.fact, BACKUP)
        else:
            yield FileState(name, WHOLE if record else UNSUMMED)


def _has_checksums(folder: Path) -> bool:
    """Return whether the run was made by a version that writes checksums."""
    try:
        return "run" in model_file.read_json(folder / MODEL)
    except UserError:
        return False


def _environment(path: Path) -> None:
    check_environment(model_file.read_json(path), path)


def _recipe(path: Path) -> None:
    """Read a recipe; its values are checked by the model's settings, which need PyTorch."""
    if is_installed("torch"):
        recipes.load(path)
        return
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"not a recipe ({error})", place=str(path)) from None


READERS: Mapping[str, Callable[[Path], object]] = {
    RECIPE: _recipe,
    ENVIRONMENT: _environment,
    MODEL: model_file.read,
    **dict.fromkeys(FURTHER, model_file.read_json),
}
"""Readers that refuse a file of another form; a file without a checksum is checked by nothing else."""


def _model(run: Run, origin: Origin | None) -> Iterator[FileState]:
    """Yield the row of model.safetensors, which a training writes at its end."""
    path = run.folder / WEIGHTS
    if not path.exists():
        if _has_ended(run):
            yield FileState(WEIGHTS, MISSING, "", AGAIN)
        return
    row = _weights(run, path, origin, {})
    if row.state == UNSUMMED:
        try:
            model_file.load(run.folder / MODEL, path, "cpu")
        except UserError as error:
            row = FileState(WEIGHTS, DAMAGED, error.fact, AGAIN)
    yield row


def _weights(run: Run, path: Path, origin: Origin | None, progress: dict[str, Any]) -> FileState:
    """Return the row of a file of tensors; of a whole training state, take the metadata into ``progress``.

    Without an origin, because model.json is damaged, the file's own checksum decides.
    """
    file = path.relative_to(run.folder).as_posix()
    state = path.name.startswith(STATE)
    remedy = AGAIN if file == WEIGHTS else RESUMES if state else WITHOUT
    try:
        with sealed_file.reading(path, "pt" if is_installed("torch") else "numpy") as content:
            content.check(content.origin if origin is None else origin, path, sealed=run.sealed)
            check_step(path, content.meta)
            check_numbers(content.tensors, largest=math.inf if state else LARGEST)
            sealed, meta = bool(content.seal), content.meta
    except UserError as error:
        return FileState(file, DAMAGED, error.fact, remedy)
    if state:
        progress.update(meta)
    return FileState(file, WHOLE if sealed else UNSUMMED)


def _metrics(run: Run, progress: Mapping[str, Any], *, began: bool) -> Iterator[FileState]:
    """Yield the row of metrics.jsonl.

    Args:
        run: the run.
        progress: of the newest state; empty without one.
        began: whether a validation was logged.
    """
    path = run.folder / METRICS
    if not path.exists():
        if began:
            yield FileState(METRICS, MISSING, "", BACKUP)
        return
    try:
        lines, torn = list(journal.lines(path, summed=run.sealed)), journal.torn(path)
    except UserError as error:
        yield FileState(METRICS, DAMAGED, error.fact, BACKUP)
        return
    faults = [f"line {number}: {line.fault}" for number, line in enumerate(lines, start=1) if line.fault]
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        yield FileState(METRICS, DAMAGED, "; ".join(faults[:3]) + more, LINES)
        return
    # Each line has a checksum; that the last ones are gone is seen by the state, which is saved after them.
    validated = {
        line.event["step"] for line in lines if line.event and line.event.get("event") == "validation"
    }
    if lost := [step for step in progress.get("scheduled", ()) if step not in validated]:
        fact = f"cut at the end of a line: the validation at step {lost[0]:,} is missing"
        yield FileState(METRICS, DAMAGED, fact, CUT)
        return
    summed = all(journal.SUM.search(line.text) for line in lines)
    cut = "its last line was cut off when the training was; the next start removes it"
    yield FileState(METRICS, WHOLE if summed else UNSUMMED, cut if torn else "")


def _has_ended(run: Run) -> bool:
    """Return whether the run's training has come to its end, as far as metrics.jsonl can be read."""
    try:
        events = [line.event for line in journal.lines(run.folder / METRICS, summed=run.sealed)]
    except UserError:
        return False
    return any(event and event.get("event") == "end" for event in events)
