"""Sequence-level knowledge distillation (Kim and Rush 2016): a student learns its teachers' translations.

Stages, each resumable: the teachers translate the source side (beam search); each sentence's target is the
output of its n best that is most similar to the reference (sequence-level interpolation, sec. 3.3); the
student is trained.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from multihead import recipe as recipes
from multihead.apps.corpus.additions import CORPUS, plain_copy
from multihead.apps.corpus.resumable_translation import TranslatedBlocks, summarise
from multihead.data.hashes import file_sha256
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import DataSettings, SearchSettings, Settings
from multihead.run import Run, files
from multihead.run.names import WEIGHTS
from multihead.scores.bleu import sentence_bleu
from multihead.system.addresses import is_address, locate_file
from multihead.system.progress import OnProgress
from multihead.tasks.translation.lines import Translator
from multihead.text.corpus import read_pairs
from multihead.text.lines import read_lines

STUDENTS = ("micro", "tiny", "base")
"""Sizes of students; their recipes are ``student-NAME``."""
BLOCKS, SOURCE, TARGET, MANIFEST = "blocks", "source.txt", "target.txt", "distilled.json"
STAGE = "translating by the teacher"
VALIDATION_KEYS = ("valid_source", "valid_target")


@dataclass(frozen=True)
class DistillationCorpus:
    """Source sentences, with or without references.

    Attributes:
        data: settings for reading the files.
        sources: files of the source side.
        targets: files of the references; empty: the source files have both sides, or there are none.
        alone: whether the source files are text without references.
        held_out: files of the pairs that the teacher held out, source and target; empty if its recipe names
            validation files.
    """

    data: Any
    sources: tuple[str, ...]
    targets: tuple[str, ...] = ()
    alone: bool = False
    held_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, folder: Path) -> "DistillationCorpus":
        """Return a run's training data.

        Args:
            run: a teacher.
            folder: receives a copy of the data in two parts if the teacher held out its validation data.

        Raises:
            UserError: it has several directions, or its recipe names no files.
        """
        data = run.recipe.data
        if run.directions or not data.source:
            fact = "distillation needs a corpus of one direction, which this run's recipe does not name"
            raise UserError(fact, place=str(run.folder), remedy="Name it: --src FILE --tgt FILE.")
        if data.valid_source:
            return cls(data, data.source, data.target)
        parts = plain_copy(data, folder / CORPUS)
        plain = DataSettings(source=parts["source"], target=parts["target"])
        held_out = {key: parts[key] for key in VALIDATION_KEYS}
        return cls(plain, plain.source, plain.target, held_out=held_out)

    def pairs(self) -> Iterator[tuple[str, str | None]]:
        """Yield source sentences with their references."""
        if self.alone:
            for name in self.sources:
                yield from ((line, None) for line in read_lines(name, self.data.encoding))
        else:
            yield from read_pairs(self.data, self.sources, self.targets)

    def hashes(self) -> list[str]:
        """SHA-256 of each file."""
        return [file_sha256(locate_file(self.data.dir, name)) for name in (*self.sources, *self.targets)]


def judged_on(corpus: DistillationCorpus, recipe: Recipe[Settings]) -> Recipe[Settings]:
    """Return the student's recipe, validated on the data that its teacher held out, if any."""
    if not corpus.held_out or recipe.data.valid_source:
        return recipe
    named = {key: (str(Path(name).absolute()),) for key, (name,) in corpus.held_out.items()}
    return replace(recipe, data=recipe.data.model_copy(update=named))


def lessons_folder(student: Path) -> Path:
    """Return the folder of a student's training data: beside the run folder."""
    return student.with_name(student.name + ".distilled")


def distill(
    teachers: Sequence[Path],
    corpus: DistillationCorpus,
    folder: Path,
    translator: Translator,
    search: SearchSettings,
    *,
    keep_original: bool = True,
    progress: OnProgress,
) -> str:
    """Translate the source side with the teachers into a folder of pairs, or complete such a folder.

    Args:
        teachers: folders of the translator's runs.
        corpus: the sentences to translate.
        folder: the output folder.
        translator: the ensemble of the teachers.
        search: its n best outputs are the candidates.
        keep_original: add the original pairs.
        progress: called with the progress.

    Returns:
        A summary in one line.

    Raises:
        UserError: no sentence; a folder begun with other teachers, text or settings.
    """
    basis = {
        "teachers": [file_sha256(teacher / WEIGHTS) for teacher in teachers],
        "text": corpus.hashes(),
        "search": search.model_dump(mode="json"),
    }
    dropped = {"empty": 0, "without a translation": 0}
    pairs = [(source, reference) for source, reference in corpus.pairs() if source.strip()]
    if not pairs:
        raise UserError("no sentence to translate", place=", ".join(corpus.sources), remedy="Check the file.")
    blocks = TranslatedBlocks(folder / BLOCKS, basis)

    def translate(lines: Sequence[str], first: int) -> list[str]:
        translations = translator.translate(lines, search, first_number=first)
        references = [reference for _, reference in pairs[first : first + len(lines)]]
        return [
            _nearest([output.text for output in translation.hypotheses] or [translation.text], reference)
            for translation, reference in zip(translations, references, strict=True)
        ]

    outputs = blocks.translated(
        (source for source, _ in pairs), translate, stage=STAGE, total=len(pairs), progress=progress
    )
    learned, changed = list[tuple[str, str]](), 0
    for (source, output), (_, reference) in zip(outputs, pairs, strict=True):
        if not output.strip():
            dropped["without a translation"] += 1
            continue
        learned.append((source, output))
        changed += reference is not None and output != reference
        if keep_original and reference is not None and output != reference:
            learned.append((source, reference))
    if not learned:
        fact = "no sentence got a translation"
        raise UserError(fact, place=str(teachers[0]), remedy="Train the teacher longer.")
    for name, side in ((SOURCE, 0), (TARGET, 1)):
        files.write_text(folder / name, "".join(f"{pair[side]}\n" for pair in learned))
    content = {
        "pairs": len(learned),
        "changed": changed,
        "left out": dropped,
        "original": keep_original,
        **basis,
    }
    files.write_text(folder / MANIFEST, json.dumps(content, indent=1) + "\n")
    return summarise(folder, len(learned), dropped)


def _nearest(candidates: Sequence[str], reference: str | None) -> str:
    """The candidate with the highest sentence BLEU; without a reference, the most probable one."""
    if reference is None or len(candidates) == 1:
        return candidates[0]
    scores = sentence_bleu(candidates, [reference] * len(candidates))
    return candidates[scores.index(max(scores))]


def student_recipe(name: str, teacher: Run, folder: Path, values: Mapping[str, object]) -> Recipe[Settings]:
    """Return the recipe that trains a student on a folder of lessons.

    Validation and test sets are the teacher's.

    Args:
        name: one of ``STUDENTS``, a recipe or a file.
        teacher: the first teacher.
        folder: see :func:`distill`.
        values: settings by dotted key.
    """
    data = teacher.recipe.data
    base = Path(data.dir)

    def absolute(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name if is_address(name) else str((base / name).absolute()) for name in names)

    overrides: dict[str, object] = {
        "data.source": (str((folder / SOURCE).absolute()),),
        "data.target": (str((folder / TARGET).absolute()),),
        "data.tests": {test: absolute(names) for test, names in data.tests.items()},
        **{f"data.{key}": absolute(getattr(data, key)) for key in VALIDATION_KEYS},
        **{f"data.{key}": getattr(data, key) for key in ("source_language", "target_language", "lowercase")},
        "data.drop_identical": False,
    }
    base_recipe = f"student-{name}" if name in STUDENTS else name
    recipe = recipes.load(base_recipe, {**overrides, **values})
    return replace(recipe, name=f"{recipe.name}-of-{teacher.recipe.name}")
