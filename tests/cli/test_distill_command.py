"""multihead distill: a student learns from teachers, and resumes between and within its stages."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import Captured, fail, run

from multihead import recipe as recipes
from multihead.apps.corpus import resumable_translation
from multihead.apps.corpus.additions import CORPUS
from multihead.apps.corpus.distilling import (
    BLOCKS,
    MANIFEST,
    SOURCE,
    STUDENTS,
    TARGET,
    _nearest,
    lessons_folder,
)
from multihead.cli import INTERRUPTED, main
from multihead.run import Run
from multihead.tasks.translation.lines import Translator

SMALL = {
    "tokenizer.kind": "words", "tokenizer.vocab_size": 31, "model.d_model": 16, "model.d_ff": 24,
    "model.num_heads": 2, "model.num_layers": 2, "training.steps": 12, "training.batch_tokens": 211,
    "training.warmup_steps": 4, "training.log_every": 3, "training.threads": 1, "validation.every": 6,
    "validation.samples": 2, "validation.max_examples": 7, "training.average": 1, "search.max_extra": 7,
}  # fmt: skip


@pytest.fixture(scope="module")
def teacher(training: list[str], corpus: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned to write something."""
    folder = tmp_path_factory.mktemp("teacher") / "run"
    held_out = ["--valid-src", str(corpus[0]), "--valid-tgt", str(corpus[1])]
    assert main([*training, *held_out, "--training.steps", "300", "--run", str(folder)]) == 0
    return folder


@pytest.fixture
def student(tmp_path: Path) -> list[str]:
    """Options of a student that trains in seconds."""
    given = {**SMALL, "data.cache": tmp_path / "cache"}
    keys = [part for key, value in given.items() for part in (f"--{key}", str(value))]
    return ["--student", "micro", "--candidates", "3", "-o", str(tmp_path / "student"), *keys]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def test_a_student_is_trained_on_its_teachers_translations_and_compared(
    teacher: Path, corpus: tuple[Path, Path], student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    student = [*student, "--translations-only"]
    out, _ = run(capfdbinary, "distill", teacher, *student)
    folder = lessons_folder(tmp_path / "student")
    assert lines(folder / SOURCE) == lines(corpus[0])[: len(lines(folder / SOURCE))]
    outputs = set(lines(folder / TARGET))
    translator = Translator.load(teacher)
    search = translator.settings.model_copy(update={"beam_size": 3, "n_best": 3, "method": "beam"})
    candidates = [
        {output.text for output in one.hypotheses}
        for one in translator.translate(lines(folder / SOURCE)[:5], search)
    ]
    for pair, found in zip(lines(folder / TARGET)[:5], candidates, strict=True):
        assert pair in found
    assert outputs
    made = Run.open(tmp_path / "student")
    assert made.has_model
    settings: Any = made.recipe.model
    assert settings.decoder_cell == "ssru"
    assert "student" in out
    assert "sentences/s" in out
    assert f"{made.recipe.training.steps}" in out
    again, _ = run(capfdbinary, "distill", teacher, *student)
    assert "nothing left to do" in again


def test_references_that_differ_from_the_translations_are_learned_from_too(
    teacher: Path, corpus: tuple[Path, Path], student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    run(capfdbinary, "distill", teacher, *student)
    folder = lessons_folder(tmp_path / "student")
    learned = list(zip(lines(folder / SOURCE), lines(folder / TARGET), strict=True))
    changed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["changed"]
    assert changed
    given = list(zip(*(lines(side) for side in corpus), strict=True))
    assert len(learned) == len(given[: len(learned) - changed]) + changed
    assert set(given[: len(learned) - changed]) <= set(learned)


def test_what_the_teacher_held_out_judges_both_and_teaches_neither(
    training: list[str], student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    teacher = tmp_path / "teacher"
    assert main([*training, "--training.steps", "60", "--run", str(teacher)]) == 0
    out, _ = run(capfdbinary, "distill", teacher, *student)
    parts = lessons_folder(tmp_path / "student") / CORPUS
    held_out = lines(parts / "valid.source")
    data = Run.open(tmp_path / "student").recipe.data
    assert data.valid_source == (str(parts / "valid.source"),)
    assert f"validation: {len(held_out)} pairs" in out
    assert "versus the teacher" in out
    assert not set(held_out) & set(lines(lessons_folder(tmp_path / "student") / SOURCE))


def test_a_small_corpus_gets_a_small_vocabulary_with_the_reason(
    teacher: Path, student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    given = [part for part in student if part not in ("--tokenizer.vocab_size", "31")]
    given[given.index("--tokenizer.kind") + 1] = "unigram"
    run(capfdbinary, "distill", teacher, *given)
    recipe = Run.open(tmp_path / "student").recipe
    assert 256 < recipe.tokenizer.vocab_size < 400
    assert recipe.tokenizer.vocab_size % 8 == 0
    assert "different words to make pieces of" in recipe.reasons["tokenizer.vocab_size"]


def test_two_teachers_are_an_ensemble(
    teacher: Path, student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    other = tmp_path / "other"
    shutil.copytree(teacher, other)
    out, _ = run(capfdbinary, "distill", teacher, other, *student)
    assert "2 teachers" in out


def test_interpolation_takes_the_candidate_nearest_to_the_reference() -> None:
    candidates = ["a dog runs there", "two dogs run over grass", "two dogs are running"]
    assert _nearest(candidates, "two dogs run over the grass") == candidates[1]
    assert _nearest(candidates, None) == candidates[0]
    assert _nearest(candidates[:1], "something else") == candidates[0]


def test_a_translation_by_the_teacher_that_was_killed_is_completed_without_repeating_a_block(
    teacher: Path, student: list[str], tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumable_translation, "BLOCK", 40)
    plain, calls = Translator.translate, list[int]()

    def counted(self: Translator, texts: Sequence[str], *given: Any, **more: Any) -> Any:
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, texts, *given, **more)

    monkeypatch.setattr(Translator, "translate", counted)
    assert main(["distill", str(teacher), *student]) == INTERRUPTED
    folder = lessons_folder(tmp_path / "student")
    assert len(list((folder / BLOCKS).glob("0*.json"))) == 2
    assert not (folder / MANIFEST).exists()
    monkeypatch.setattr(Translator, "translate", plain)
    kept = {path.name: path.stat().st_mtime_ns for path in (folder / BLOCKS).glob("0*.json")}
    run(capfdbinary, "distill", teacher, *student)
    for name, written in kept.items():
        assert (folder / BLOCKS / name).stat().st_mtime_ns == written
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    assert content["pairs"] == len(lines(folder / SOURCE)) == len(lines(folder / TARGET))


def test_a_student_whose_training_was_killed_ends_with_the_same_weights(
    teacher: Path, student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    whole = [part.replace(str(tmp_path / "student"), str(tmp_path / "whole")) for part in student]
    more = ["--training.steps", "40"]
    run(capfdbinary, "distill", teacher, *whole, *more)
    command = [sys.executable, "-u", "-m", "multihead", "distill", str(teacher), *student, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        next(line for line in process.stdout if line.startswith("step 21/"))
        process.send_signal(signal.SIGKILL)
    out, _ = run(capfdbinary, "distill", teacher, *student, *more)
    assert "finished" in out
    ours, theirs = (Run.open(tmp_path / name).load_model().state_dict() for name in ("student", "whole"))
    assert all((ours[name] == theirs[name]).all() for name in theirs)


def test_another_teacher_in_the_same_folder_is_refused(
    teacher: Path, student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    run(capfdbinary, "distill", teacher, *student)
    told = fail_after(capfdbinary, "distill", teacher, *student, "--candidates", "2")
    assert "begun from other text, another model or other settings" in told


def fail_after(capture: Captured, *arguments: object) -> str:
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    return capture.readouterr()[1].decode()


def test_text_without_references_teaches_too(
    teacher: Path, student: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    text = tmp_path / "more.de"
    text.write_text("eins zwei\n\nzwei drei vier\nsechs\n" * 3, encoding="utf-8")
    run(capfdbinary, "distill", teacher, *student, "--src", text)
    assert set(lines(lessons_folder(tmp_path / "student") / SOURCE)) == {
        "eins zwei",
        "zwei drei vier",
        "sechs",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "RUN is missing"),
        (["{run}"], "--output is missing"),
        (["{run}", "-o", "x", "--tgt", "y"], "references without sentences"),
        (["{run}", "-o", "x", "--candidates", "0"], "candidates 0"),
        (["{run}", "-o", "x", "--student", "huge"], "huge"),
    ],
)
def test_wrong_arguments_are_refused_with_a_remedy(
    teacher: Path, capfdbinary: Captured, arguments: list[str], message: str
) -> None:
    assert message in fail(capfdbinary, "distill", *(part.format(run=teacher) for part in arguments))


@pytest.mark.parametrize("name", STUDENTS)
def test_students_have_what_every_export_can_express(name: str) -> None:
    s: Any = recipes.load(f"student-{name}").model
    assert (s.norm, s.activation, s.tied, s.positions) == ("post", "relu", "all", "sinusoidal_concatenated")
    assert (s.first_input, s.output_bias, s.decoder_cell) == ("zero", True, "ssru")
    sizes = {"micro": (128, 256, 4, 1, 4), "tiny": (256, 1536, 6, 2, 8), "base": (512, 2048, 6, 2, 8)}
    assert (s.d_model, s.d_ff, s.num_layers, s.decoder_layers, s.num_heads) == sizes[name]
    assert recipes.load(f"student-{name}").tokenizer.kind == "unigram"
