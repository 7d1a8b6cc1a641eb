"""Data diversification: a student learns from a corpus and from translations of it (Nguyen et al. 2020).

Teachers are trained in both directions, with different seeds. The ensemble of the forward teachers, and each
of them but the first, translate the source side; the ensemble of the backward teachers translates the target
side. The student is trained on the corpus and all of these.

Every stage leaves files in one folder. A stage whose files are complete is not repeated, and training and
translation resume inside a stage, so the same call continues wherever it was interrupted.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from multihead.apps.corpus.additions import (
    CORPUS,
    Corpus,
    plain_copy,
    reverse_direction,
    train_part,
    way,
    without_files,
)
from multihead.apps.corpus.resumable_translation import TranslatedBlocks
from multihead.apps.corpus.synthesis import weights_hash
from multihead.data.hashes import file_sha256
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import files
from multihead.system import disk
from multihead.system.addresses import locate_file
from multihead.tasks.translation.evaluate import Evaluation, TestSet, evaluate, read_test_set
from multihead.tasks.translation.lines import Translator
from multihead.text.corpus import read_lines
from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.resolve_recipe import resolve_recipe

PLAN = "diversify.json"
STUDENT = "student"
DONE = ".done"
"""Suffix of the file beside a run with the hash of its final weights."""
FORWARD, BACKWARD = 2, 1
"""Number of teachers in each direction."""
ENSEMBLE = "ensemble of the teachers"


@dataclass(frozen=True)
class DiversificationRequest:
    """The training runs of a diversification.

    Attributes:
        name: the teachers' recipe; None: settings suggested by the corpus.
        student: the student's recipe; None: the teachers'.
        corpus: the named files.
        given: settings by dotted key, for all trainings.
        folder: folder of all results.
        forward: number of teachers in the student's direction.
        backward: number of teachers in the opposite direction.
    """

    name: str | None
    student: str | None
    corpus: Corpus
    given: Mapping[str, object]
    folder: Path
    forward: int = FORWARD
    backward: int = BACKWARD


@dataclass
class _Work:
    """State shared by the stages."""

    request: DiversificationRequest
    recipe: Recipe[Settings]
    display: ProgressDisplay
    corpus: dict[str, tuple[str, ...]] = field(default_factory=dict)


Stage = tuple[str, Callable[[_Work], object]]


def stages(request: DiversificationRequest) -> list[str]:
    """Return the names of the stages, in order."""
    return [name for name, _ in _stages(request)]


def diversify(
    request: DiversificationRequest,
    display: ProgressDisplay,
    *,
    begin: Callable[[str], object] = lambda name: None,
) -> list[tuple[str, Evaluation]]:
    """Train or resume teachers and a student; return the evaluation of each system.

    Args:
        request: what to train.
        display: shows the progress.
        begin: called with the name of each stage before it.

    Raises:
        UserError: the folder was begun with another request or corpus; see ``train``.
        KeyboardInterrupt: the user interrupted a training; the same call resumes.
    """
    recipe = resolve_recipe(request.name, request.corpus, request.given, run=None, init=None)
    if recipe.task != "translation":
        raise UserError("only a translator can be diversified", place=recipe.name)
    if min(request.forward, request.backward) < 1:
        remedy = "Give at least 1 of each direction."
        raise UserError("no teacher", place="--teachers, --back-teachers", remedy=remedy)
    files.make_folder(request.folder)
    _check_plan(request, recipe)
    work = _Work(request, recipe, display)
    every = _stages(request)
    for number, (name, run) in enumerate(every, start=1):
        begin(name)
        display.console.print(f"{number} of {len(every)}: {name}")
        run(work)
    return list(_compare(work))


def _stages(request: DiversificationRequest) -> list[Stage]:
    stages: list[Stage] = [("the corpus", _copy)]
    for back, count in ((False, request.forward), (True, request.backward)):
        for number in range(count):
            name = f"{'backward' if back else 'forward'} teacher {number + 1}"
            stages.append((name, partial(_teach, number=number, back=back)))
    for number, (name, _, _) in enumerate(_translations(request)):
        stages.append((f"translation {name}", partial(_translate, number=number)))
    return [*stages, ("the student", _study)]


def _check_plan(request: DiversificationRequest, recipe: Recipe[Settings]) -> None:
    """Refuse a folder that was begun with another request; record the request."""
    data = recipe.data
    named = [locate_file(data.dir, name) for name in (*data.source, *data.target, *data.valid_source)]
    plan = {
        "teachers": request.name,
        "student": request.student,
        "settings": {key: str(value) for key, value in sorted(request.given.items())},
        "files": [file_sha256(path) for path in named if path.is_file()],
        "numbers": [request.forward, request.backward],
    }
    text = json.dumps(plan, indent=1) + "\n"
    path = request.folder / PLAN
    if path.exists() and disk.content(path).decode("utf-8", "replace") != text:
        fact = "this folder was begun with another corpus, recipe or other settings"
        raise UserError(
            fact, place=str(path), remedy="Give the same to resume, or name another --run folder."
        )
    files.write_text(path, text)


def _copy(work: _Work) -> None:
    work.corpus.update(plain_copy(work.recipe.data, work.request.folder / CORPUS))


def _given_settings(work: _Work, *, back: bool) -> dict[str, object]:
    return {**without_files(work.request.given), **way(work.recipe.data, back=back)}


def _teach(work: _Work, *, number: int, back: bool) -> None:
    folder = _teachers(work.request, back=back)[number]
    if _complete(folder):
        return
    seed = work.recipe.training.seed + number
    settings = {**_given_settings(work, back=back), "training.seed": seed}
    corpus = reverse_direction(work.corpus) if back else work.corpus
    if train_part(work.request.name, corpus, settings, folder, work.display).status == "interrupted":
        raise KeyboardInterrupt(folder.name)
    _complete_outputs(folder)


def _complete(run: Path) -> bool:
    """Return whether a training ended with the weights that the run has now."""
    mark = run.with_name(run.name + DONE)
    return mark.is_file() and disk.content(mark).decode("utf-8", "replace") == weights_hash(run) + "\n"


def _complete_outputs(run: Path) -> None:
    files.write_text(run.with_name(run.name + DONE), weights_hash(run) + "\n")


def _teachers(request: DiversificationRequest, *, back: bool) -> list[Path]:
    count, name = (request.backward, "backward") if back else (request.forward, "forward")
    return [request.folder / f"{name}-{number}" for number in range(1, count + 1)]


def _translations(request: DiversificationRequest) -> list[tuple[str, list[Path], bool]]:
    """Return each translation's file and teachers, and whether it goes backward."""
    forward, backward = _teachers(request, back=False), _teachers(request, back=True)
    translations = [("ensemble.target", forward, False)] if len(forward) > 1 else []
    translations += [
        (f"{teacher.name}.target", [teacher], False) for teacher in forward[min(1, len(translations)) :]
    ]
    return [*translations, ("back.source", backward, True)]


def _translate(work: _Work, *, number: int) -> None:
    name, teachers, back = _translations(work.request)[number]
    output = work.request.folder / name
    if output.exists():
        return
    translator = Translator.load(*map(str, teachers))
    search = translator.settings.model_copy(update={"n_best": 1})
    text = work.corpus["target" if back else "source"][0]
    basis = {
        "teachers": [weights_hash(teacher) for teacher in teachers],
        "text": file_sha256(text),
        "search": search.model_dump(mode="json"),
    }

    def translate(lines: Sequence[str], first: int) -> list[str]:
        return [translation.text for translation in translator.translate(lines, search, first_number=first)]

    blocks = TranslatedBlocks(work.request.folder / f"{name}.blocks", basis)
    total = sum(1 for _ in read_lines(text))
    progress = work.display.on_preparation
    done = blocks.translated(read_lines(text), translate, stage="translating", total=total, progress=progress)
    files.write_text(output, "".join(f"{text}\n" for _, text in done))


def _study(work: _Work) -> None:
    request = work.request
    if _complete(request.folder / STUDENT):
        return
    extra = [(name, back) for name, _, back in _translations(request)]
    originals = {side: work.corpus[side][0] for side in ("source", "target")}
    synthetic = [
        (str(request.folder / name), originals["target"])
        if back
        else (originals["source"], str(request.folder / name))
        for name, back in extra
    ]
    pairs = [(originals["source"], originals["target"]), *synthetic]
    corpus = dict(work.corpus)
    corpus |= {"source": tuple(source for source, _ in pairs), "target": tuple(target for _, target in pairs)}
    settings = _given_settings(work, back=False)
    name = request.student or request.name
    if train_part(name, corpus, settings, request.folder / STUDENT, work.display).status == "interrupted":
        raise KeyboardInterrupt(STUDENT)
    _complete_outputs(request.folder / STUDENT)


def _compare(work: _Work) -> Iterator[tuple[str, Evaluation]]:
    """Yield every system's evaluation on the validation set and on the recipe's test sets."""
    teachers = _teachers(work.request, back=False)
    systems = {run.name: [run] for run in teachers}
    if len(teachers) > 1:
        systems[ENSEMBLE] = teachers
    systems[STUDENT] = [work.request.folder / STUDENT]
    data = work.recipe.data
    valid = [list(read_lines(work.corpus[f"valid_{side}"][0])) for side in ("source", "target")]
    sets = [TestSet("validation", valid[0], valid[1])]
    sets += [read_test_set(name, data, names) for name, names in data.tests.items()]
    for test in sets:
        for name, runs in systems.items():
            translator = Translator.load(*map(str, runs))
            yield name, evaluate(translator, test, translator.settings)
