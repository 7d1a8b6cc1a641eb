"""Commands about more and better data: clean, synthesise, diversify, and the options of train."""

import json
from pathlib import Path

import pytest
from command_line import fail, run

from multihead.apps.corpus import dual_cross_entropy
from multihead.cli import main
from multihead.run import Run
from multihead.tasks.translation.lines import Translator
from multihead.workflows import train as workflow

Captured = pytest.CaptureFixture[bytes]


LEARNED = [
    *("--training.steps", "60", "--training.learning_rate", "0.02", "--training.warmup_steps", "10"),
    *("--validation.every", "60"),
]
"""Settings with which a tiny model learns to write a few words."""


@pytest.fixture(autouse=True)
def _no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no curves and reports, which take most of the time of such short trainings."""
    monkeypatch.setattr(workflow, "write_reports", lambda *given: None)


@pytest.fixture(scope="module")
def back(training: list[str], corpus: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that translates from English to German, more or less."""
    source, target = map(str, corpus)
    swapped = [{source: target, target: source}.get(word, word) for word in training]
    folder = tmp_path_factory.mktemp("back") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workflow, "write_reports", lambda *given: None)
        assert main([*swapped, "--run", str(folder), *LEARNED]) == 0
    return folder


@pytest.fixture
def mono(tmp_path: Path) -> Path:
    path = tmp_path / "mono.en"
    lines = [f"{a} {b}" for a in ("one", "two", "six") for b in ("one", "two", "three", "four")]
    path.write_text("\n".join([*lines, "", "one  one"]) + "\n", encoding="utf-8")
    return path


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


# --- clean ----------------------------------------------------------------------------------------------


def test_clean_writes_kept_and_dropped_pairs_and_nothing_is_lost(
    tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "a.de").write_text("eins\nzwei\n \ndrei\nZWEI\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("one\ntwo\nthree\nthree\ntwo.\n", encoding="utf-8")
    command = ["clean", "--src", tmp_path / "a.de", "--tgt", tmp_path / "a.en", "-o", tmp_path / "out"]
    out, _ = run(capfdbinary, *command)
    assert "5 pairs read, 3 kept, 2 dropped" in out
    assert "duplicate: 1 (the same words as an earlier pair)" in out
    assert "5 (like 2): ZWEI | two." in out
    assert lines(tmp_path / "out.de") == ["eins", "zwei", "drei"]
    assert lines(tmp_path / "out.en") == ["one", "two", "three"]
    rows = [line.split("\t") for line in lines(tmp_path / "out.dropped.tsv")]
    assert [(row[0], row[1], *row[4:]) for row in rows[1:]] == [
        ("3", "empty", " ", "three"),
        ("5", "duplicate", "ZWEI", "two."),
    ]
    out, _ = run(capfdbinary, *command, "--keep", "duplicate", "--json")
    assert json.loads(out)["kept although"] == {"duplicate": 1}
    assert len(lines(tmp_path / "out.de")) == 4
    # Rows of the dropped file are a list of pairs to keep.
    (tmp_path / "wanted.tsv").write_text("5\tduplicate\n", encoding="utf-8")
    run(capfdbinary, *command, "--keep-pairs", tmp_path / "wanted.tsv")
    assert lines(tmp_path / "out.de")[-1] == "ZWEI"


def test_clean_reads_and_writes_tables(tmp_path: Path, capfdbinary: Captured) -> None:
    (tmp_path / "a.tsv").write_text("eins\tone\nzwei\t\n", encoding="utf-8")
    run(capfdbinary, "clean", "--src", tmp_path / "a.tsv", "-o", tmp_path / "out.tsv")
    assert lines(tmp_path / "out.tsv") == ["eins\tone"]
    assert lines(tmp_path / "out.dropped.tsv")[1].startswith("2\tempty")


def test_clean_reads_named_columns(tmp_path: Path, capfdbinary: Captured) -> None:
    (tmp_path / "a.csv").write_text('en;de\n"one; or so";eins\n', encoding="utf-8")
    named = ["--source-field", "de", "--target-field", "en"]
    run(capfdbinary, "clean", "--src", tmp_path / "a.csv", *named, "-o", tmp_path / "out.tsv")
    assert lines(tmp_path / "out.tsv") == ["eins\tone; or so"]


def test_clean_with_two_translators_is_resumed(
    corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"model.d_model": 16, "model.num_layers": 1, "model.num_heads": 2, "search.max_extra": 3}
    monkeypatch.setattr(dual_cross_entropy, "SETTINGS", {"training.steps": 3, **small})
    source, target = corpus
    command = ["clean", "--src", source, "--tgt", target, "-o", tmp_path / "out", "--model", tmp_path / "two"]
    run(capfdbinary, *command)
    before = [lines(tmp_path / f"out.{ending}") for ending in ("de", "en", "dropped.tsv")]
    assert len(before[0]) + len(before[2]) - 1 == len(lines(source))
    monkeypatch.setattr(Translator, "score", None)  # scores are stored
    run(capfdbinary, *command)
    assert [lines(tmp_path / f"out.{ending}") for ending in ("de", "en", "dropped.tsv")] == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out"], "--src is missing"),
        (["--src", "a.tsv"], "--output is missing"),
        (["--src", "a.tsv", "-o", "a.tsv"], "would overwrite an input file"),
        (["--src", "a.tsv", "-o", "out.csv"], "no .csv is written. Name it out.tsv, or"),
        (["--src", "a.tsv", "-o", "out", "--keep", "ugly"], '"ugly" is not a reason'),
        (["--src", "a.tsv", "-o", "out", "--keep-pairs", "a.tsv"], '"eins" is not a number'),
        (["--src", "b.tsv", "-o", "out"], "no pair would be kept (1 empty)"),
        (["--src", "a.tsv", "-o", "out", "--src-lang", "de", "--tgt-lang", "de"], "endings cannot be"),
    ],
)
def test_clean_refuses(
    arguments: list[str], message: str, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("eins\tone\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("eins\t\n", encoding="utf-8")
    assert message in fail(capfdbinary, "clean", *arguments)


# --- synthesise -----------------------------------------------------------------------------------------


def test_synthesise_makes_a_corpus_that_train_takes(
    back: Path, mono: Path, training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(capfdbinary, "synthesise", back, mono, "-o", tmp_path / "synthetic")
    assert "12 pairs (left out: 1 empty, 1 repeated)" in out
    targets = lines(tmp_path / "synthetic" / "synthetic.en")
    assert targets == list(dict.fromkeys(" ".join(line.split()) for line in lines(mono) if line))
    before = (tmp_path / "synthetic" / "synthetic.de").read_bytes()
    run(capfdbinary, "synthesise", back, mono, "-o", tmp_path / "synthetic")
    assert (tmp_path / "synthetic" / "synthetic.de").read_bytes() == before
    assert 'tags = ["bt"]' in (tmp_path / "synthetic" / "corpora.toml").read_text(encoding="utf-8")
    command = [*training, "--synthetic", tmp_path / "synthetic", "--copy", mono, "--run", tmp_path / "run"]
    out, _ = run(capfdbinary, *command, "--training.steps", "2")
    assert "back-translated: 12 pairs read" in out
    assert "copied: 14 pairs read" in out
    epoch = Run.open(tmp_path / "run").environment["data"]["epoch"]
    assert list(epoch) == ["corpus", "back-translated", "copied"]


@pytest.mark.parametrize("how", [["--noise"], ["--method", "sample"], ["--beam-size", "2"]])
def test_synthesise_in_each_way(
    how: list[str], back: Path, mono: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    for name in ("one", "two"):
        run(capfdbinary, "synthesise", back, mono, "-o", tmp_path / name, *how)
    first, second = ((tmp_path / name / "synthetic.de").read_bytes() for name in ("one", "two"))
    assert first == second
    message = fail(capfdbinary, "synthesise", back, mono, "-o", tmp_path / "one", "--max-extra", "2")
    assert "begun from other text, another model or other settings" in message


def test_train_does_all_of_it_by_one_option(
    training: list[str], mono: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    command = [*training, "--mono", mono, "--run", tmp_path / "run", *LEARNED]
    out, _ = run(capfdbinary, *command)
    for line in ("1 of 3: a translator back", "2 of 3: its translations", "3 of 3: the translator"):
        assert line in out
    weights = (tmp_path / "run" / "model.safetensors").read_bytes()
    out, _ = run(capfdbinary, *command)
    assert "nothing left to do" in out
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == weights


def test_a_text_alone_goes_with_one_corpus_and_no_dry_run(mono: Path, capfdbinary: Captured) -> None:
    message = fail(capfdbinary, "train", "--src", "a.tsv", "--mono", mono, "--dry-run")
    assert "--mono: beside --dry-run" in message
    message = fail(capfdbinary, "train", "--corpus", "de-en=a.de,a.en", "--mono", mono)
    assert "--mono: beside several corpora" in message


# --- corrections and diversify --------------------------------------------------------------------------


def test_corrections_improve_a_run_and_the_old_test_set_is_reported_beside_the_held_out_ones(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    fixes = tmp_path / "fixes.tsv"
    rows = [
        f"{a} {b} null\tnil {b} {a}\n" for a in ("eins", "zwei", "drei", "vier", "fünf") for b in "abcdefgh"
    ]
    fixes.write_text("".join(rows), encoding="utf-8")
    command = ["train", "--init", trained, "--corrections", fixes, "--run", tmp_path / "run"]
    out, _ = run(capfdbinary, *command, "--training.steps", "2")
    assert "corrections: 40 pairs read" in out
    assert "test sets before and after fine-tuning" in out
    assert "held-out corrections before and after fine-tuning" in out
    assert f"{tmp_path / 'run'} versus {trained}" in out.replace("\n", " ")


def test_diversify_needs_a_folder(capfdbinary: Captured) -> None:
    assert "--run is missing" in fail(capfdbinary, "diversify", "--src", "a.tsv")
