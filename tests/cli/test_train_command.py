"""The command ``multihead train``."""

import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead import recipe as recipes
from multihead.cli import main
from multihead.run import Run
from multihead.run.tensors import load as load_tensors
from multihead.run.tensors import save as save_tensors


def test_training_progress_is_printed_as_plain_lines(
    training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder = tmp_path / "run"
    out, err = run(capfdbinary, *training, "--run", folder)
    lines = out.split("\n")
    assert "Traceback" not in err
    assert any(line.startswith("step 3/12  loss ") and "  ETA " in line for line in lines)
    assert any(line.startswith("step 6  validation loss ") and "bleu" in line for line in lines)
    assert any(line.startswith("  source ") for line in lines)
    assert any(line.startswith("finished after 12 steps") for line in lines)
    assert "\033" not in out
    for name in ("recipe.toml", "model.safetensors", "metrics.jsonl", "samples.txt", "curves.svg"):
        assert (folder / name).stat().st_size


def test_a_finished_run_is_left_unchanged(training: list[str], trained: Path, capfdbinary: Captured) -> None:
    weights = (trained / "model.safetensors").read_bytes()
    out, _ = run(capfdbinary, *training, "--run", trained)
    assert "nothing left to do: finished after 12 steps, " in out
    assert (trained / "model.safetensors").read_bytes() == weights


def test_a_run_is_resumed_with_its_own_recipe(
    training: list[str], trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(capfdbinary, "train", "--run", trained)
    assert "finished" in out


def test_an_interrupted_training_prints_the_command_that_resumes_it(
    training: list[str], tmp_path: Path
) -> None:
    long = [*training, "--training.steps", "100000", "--validation.every", "90000", "--run", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "multihead", *long],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        next(line for line in process.stdout if line.startswith("step 3/"))
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert process.returncode == 130
    assert "resume with the same command:\n" in output
    assert output.endswith(f"multihead {shlex.join(long)}\n")
    assert errors == ""


def test_fine_tuning_evaluates_the_test_sets_before_and_after(
    training: list[str], trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(capfdbinary, *training, "--init", trained, "--run", tmp_path / "tuned")
    _, output = out.split("test sets before and after fine-tuning:")
    assert f"{trained} on held_out: 216 pairs" in output
    assert f"{tmp_path / 'tuned'} on held_out: 216 pairs" in output
    assert f"held_out: {tmp_path / 'tuned'} versus {trained}" in output


@pytest.mark.parametrize(
    ("key", "before", "after"), [("model.d_ff", 24, 29), ("tokenizer.vocab_size", 31, 23)]
)
def test_a_changed_setting_is_named_and_refused(
    training: list[str], trained: Path, capfdbinary: Captured, key: str, before: int, after: int
) -> None:
    capfdbinary.readouterr()
    assert main([*training, "--run", str(trained), f"--{key}", str(after)]) == 2
    assert f"{key}: {before} -> {after}" in capfdbinary.readouterr().err.decode()


def test_a_vocabulary_other_than_that_of_the_initial_run_is_refused(
    training: list[str], trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    arguments = [*training, "--init", trained, "--run", tmp_path / "tuned", "--tokenizer.vocab_size", "23"]
    error = fail(capfdbinary, *arguments)
    assert "tokenizer.vocab_size: 23 differs from the run named by --init" in error
    assert not (tmp_path / "tuned").exists()


def test_an_unreadable_test_set_is_reported_before_the_training(
    training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    tests = ["--data.tests.later", '["nowhere.de", "nowhere.en"]', "--training.steps", "1"]
    out, _ = run(capfdbinary, *training, *tests, "--run", tmp_path / "run")
    assert "caution: the test set later cannot be read: nowhere.de: no such file" in out


def test_a_dry_run_trains_nothing(training: list[str], tmp_path: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, *training, "--run", tmp_path / "run", "--dry-run")
    for words in ("parameters", "peak memory", "largest batch", "12 updates"):
        assert words in out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "nothing to train on"),
        (["multi30k-de-em"], 'Did you mean "multi30k-de-en"?'),
        (["quickstart", "--steps", "10"], 'unknown option "--steps". Did you mean "--training.steps"?'),
        (["quickstart", "--training.stepps", "10"], 'Did you mean "--training.steps"?'),
        (["quickstart", "--training.steps", "many"], '--training.steps: "many" is given, but it must be'),
        (["quickstart", "--model.d_modl=3"], 'Did you mean "--model.d_model"?'),
        (["--src", "nowhere.de", "--tgt", "nowhere.en"], "nowhere.de: no such file"),
        (["--src", "-", "--tgt", "nowhere.en"], "can be read only once"),
    ],
)
def test_invalid_input_is_a_user_error(capfdbinary: Captured, arguments: list[str], error: str) -> None:
    assert error in fail(capfdbinary, "train", *arguments)


def test_help_of_train_lists_every_key(capfdbinary: Captured) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "--help-all"])
    assert end.value.code == 0
    shown = capfdbinary.readouterr().out.decode()
    for words in ("--src FILE", "--dry-run", "--training.steps", "--model.d_model", "--search.beam_size"):
        assert words in shown


def test_tied_embeddings_of_two_vocabularies_are_refused_before_the_corpus_is_read(
    capfdbinary: Captured,
) -> None:
    files = ["--src", "nowhere.de", "--tgt", "nowhere.en"]
    apart = ("--tokenizer.joint", "false")
    error = fail(capfdbinary, "train", *files, *apart, "--model.tied", "all")
    assert "two vocabularies cannot share one matrix" in error
    assert 'Set model.tied to "decoder"' in error
    for typed in ((), ("--model.tied", "none")):
        assert "no such file" in fail(capfdbinary, "train", *files, *apart, *typed)


def test_a_key_with_an_invalid_value_is_named_once(capfdbinary: Captured) -> None:
    error = fail(capfdbinary, "train", "multi30k-de-en", "--search.beam_size", "many")
    assert error.strip() == (
        'multihead: --search.beam_size: "many" is given, but it must be an integer of at least 1'
    )


def weights(folder: Path) -> dict[str, list[float]]:
    tensors, _ = load_tensors(folder / "model.safetensors")
    return {name: tensor.flatten().tolist() for name, tensor in tensors.items()}


def test_a_run_is_made_longer_by_its_number_of_updates_alone(
    training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    own = [*training, "--training.schedule", "inverse_sqrt", "--run", tmp_path / "run"]
    run(capfdbinary, *own)
    warmup = recipes.load(tmp_path / "run" / "recipe.toml").training.warmup_steps
    out, _ = run(capfdbinary, *own, "--training.steps", "31")
    assert "finished after 31 steps" in out
    after = recipes.load(tmp_path / "run" / "recipe.toml").training
    assert (after.steps, after.warmup_steps, after.horizon) == (31, warmup, 12)
    at_once = ["--training.steps", "31", "--training.warmup_steps", warmup]
    run(capfdbinary, *own[:-1], tmp_path / "whole", *at_once)
    assert weights(tmp_path / "whole") == weights(tmp_path / "run")


def test_updates_that_were_made_are_not_taken_back(
    training: list[str], trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.toml")}
    capfdbinary.readouterr()
    assert main([*training, "--run", str(tmp_path / "run"), "--training.steps", "7"]) == 2
    told = capfdbinary.readouterr().err.decode()
    assert "the run has already made 12 updates, more than training.steps 7. Set training.steps to" in told
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.toml")} == before


def test_a_run_whose_rate_has_ended_at_0_is_made_longer_by_its_number_of_updates_alone(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    own = ["train", "--run", str(tmp_path / "run")]
    out, _ = run(capfdbinary, *own, "--training.steps", "31")
    assert "finished after 31 steps" in out
    steps = [event["step"] for event in Run(tmp_path / "run").metrics() if event["event"] == "update"]
    assert steps == sorted(set(steps))
    out, _ = run(capfdbinary, *own)
    assert "nothing left to do: finished after 31 steps" in out
    assert "--training.steps N continues it" in out


def test_a_finished_run_goes_on_when_asked(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    shutil.copytree(trained, tmp_path / "run")
    assert main(["train", "--run", str(tmp_path / "run"), "--longer"]) == 2
    told = " ".join(capfdbinary.readouterr().err.decode().split())
    assert "it has made all 12 updates. Give more: --training.steps N" in told
    assert main(["train", "--longer"]) == 2
    assert "no run folder is named" in capfdbinary.readouterr().err.decode()


def test_fine_tuning_is_made_longer_by_its_number_of_updates_alone(
    training: list[str], trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    source, target = training[2], training[4]
    own = ["train", "--init", trained, "--src", source, "--tgt", target, "--run", tmp_path / "run"]
    own += ["--training.schedule", "constant", "--validation.patience", "0"]
    for steps in ("11", "23"):
        out, _ = run(capfdbinary, *own, "--training.steps", steps)
        assert f"finished after {steps} steps" in out


def test_a_run_that_is_too_short_for_its_schedule_says_so(
    training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    short = ["--training.steps", "3", "--training.warmup_steps", "3", "--validation.every", "5"]
    out, _ = run(capfdbinary, *training, *short, "--run", tmp_path / "run")
    assert "caution: the learning rate still rises when training ends (training.steps 3," in out
    assert "caution: no validation before training ends (training.steps 3, validation.every 5)" in out


def test_emulated_bf16_is_named(
    training: list[str], tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multihead.system.hardware.has_fast_bf16", lambda device: False)
    short = ["--training.steps", "2", "--run", tmp_path / "run"]
    out, _ = run(capfdbinary, *training, *short, "--training.precision", "bf16")
    assert "caution: this processor emulates bf16" in out
    out, _ = run(
        capfdbinary, *training, *short[:2], "--run", tmp_path / "other", "--training.precision", "fp32"
    )
    assert "emulates" not in out


def test_other_weights_to_begin_with_than_a_run_began_with_are_refused(
    training: list[str], trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    source, target = training[2], training[4]
    own = ["train", "--src", source, "--tgt", target, "--run", str(tmp_path / "run")]
    own += ["--training.steps", "2", "--validation.every", "2", "--training.threads", "1"]
    run(capfdbinary, *own, "--init", trained)
    assert "nothing left to do" in run(capfdbinary, *own, "--init", trained)[0]
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    tensors, meta = load_tensors(other / "model.safetensors")
    save_tensors(other / "model.safetensors", {name: value + 1 for name, value in tensors.items()}, meta)
    capfdbinary.readouterr()
    assert main([*own, "--init", str(other)]) == 2
    told = capfdbinary.readouterr().err.decode()
    assert "this run was started from other weights than those of --init. Resume it without --init" in told
