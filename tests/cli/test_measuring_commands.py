"""The commands ``score``, ``evaluate`` and ``compare``."""

import json
import math
import shutil
from pathlib import Path

import pytest
import torch
from command_line import Captured, fail, run
from sealing import accept

import multihead
from multihead.errors import UserError
from multihead.run import Run, tensors


def test_score_gives_a_number_for_each_pair(
    trained: Path, corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured
) -> None:
    out, err = run(capfdbinary, "score", trained, "--src", corpus[0], "--tgt", corpus[1])
    numbers = [float(line) for line in out.removesuffix("\n").split("\n")]
    assert len(numbers) == 216
    assert all(number < 0 for number in numbers)
    assert "216 pairs, 864 tokens" in err
    total = float(err.partition("log-probability ")[2].partition(",")[0])
    assert total == pytest.approx(math.fsum(numbers), abs=0.02)  # each is printed rounded
    per_token, _ = run(
        capfdbinary,
        "score",
        trained,
        "--src",
        corpus[0],
        "--tgt",
        corpus[1],
        "--per-token",
        "-o",
        tmp_path / "x",
    )
    assert per_token == ""
    first = float((tmp_path / "x").read_text().split("\n")[0])
    assert first == pytest.approx(numbers[0] / 4, abs=1e-4)


def test_score_refuses_files_of_different_length(
    trained: Path, corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "short").write_text("one\n")
    capfdbinary.readouterr()
    out = tmp_path / "numbers"
    arguments = ["score", trained, "--src", corpus[0], "--tgt", tmp_path / "short", "-o", out]
    assert "216 lines, but" in fail(capfdbinary, *arguments)
    assert not out.exists()


def test_score_reads_files_with_the_runs_data_settings(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"one": "eins zwei drei", "other": "three two one"}\n')
    keys = ["--data.source_field", "one", "--data.target_field", "other"]
    out, _ = run(capfdbinary, "score", trained, "--src", pairs, *keys)
    assert float(out) < 0
    assert "data.source_field" in fail(capfdbinary, "score", trained, "--src", pairs)


def test_a_target_without_a_source_is_a_user_error(trained: Path, capfdbinary: Captured) -> None:
    for command in (["evaluate", trained], ["compare", trained]):
        assert "--tgt without --src" in fail(capfdbinary, *command, "--tgt", "nowhere.en")
    with pytest.raises(UserError, match="--tgt without --src"):
        multihead.compare(trained, target="nowhere.en")


def test_a_run_is_not_compared_with_itself(trained: Path, capfdbinary: Captured) -> None:
    assert "given twice" in fail(capfdbinary, "evaluate", trained, trained)


def test_evaluate_uses_the_recipes_test_sets(trained: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "evaluate", trained)
    assert f"{trained} on held_out: 216 pairs" in out
    assert "nrefs:1|case:mixed" in out
    assert "216 of these sentences occur in the training data" not in out or "caution" in out
    results = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])
    assert results["held_out"]["pairs"] == 216
    assert {"bleu", "bleu_lowercase", "chrf", "perplexity", "signature"} <= results["held_out"].keys()


def test_evaluate_prints_signatures_whole(
    trained: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out, _ = run(capfdbinary, "evaluate", trained)
    results = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])["held_out"]
    lines = out.split("\n")
    for name in ("signature", "signature_lowercase", "signature_chrf"):
        assert f"    {results[name]}" in lines
    assert lines == [line.rstrip() for line in lines]


def test_evaluate_compares_two_runs(
    trained: Path, corpus: tuple[Path, Path], capfdbinary: Captured, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.symlink_to(trained)
    files = ["--src", corpus[0], "--tgt", corpus[1]]
    out, _ = run(capfdbinary, "evaluate", trained, other, *files)
    assert f"train.de: {other} versus {trained}" in out
    assert "not significant" in out
    results = json.loads(run(capfdbinary, "evaluate", trained, other, *files, "--json")[0])
    assert results["comparison"]["train.de"]["bleu"]["p_value"] == 1.0
    assert results["runs"].keys() == {str(trained), str(other)}


def test_runs_are_compared_lower_cased_if_one_of_them_is(
    trained: Path, corpus: tuple[Path, Path], capfdbinary: Captured, tmp_path: Path
) -> None:
    other = shutil.copytree(trained, tmp_path / "other")
    recipe = (other / "recipe.toml").read_text(encoding="utf-8")
    (other / "recipe.toml").write_text(
        recipe.replace("lowercase = false", "lowercase = true"), encoding="utf-8"
    )
    accept(Path(other))
    (tmp_path / "capital.en").write_text(corpus[1].read_text().title())
    files = ["--src", corpus[0], "--tgt", tmp_path / "capital.en"]
    out, _ = run(capfdbinary, "evaluate", trained, other, *files)
    assert f"train.de: {other} versus {trained}, lower-cased" in out
    results = json.loads(run(capfdbinary, "evaluate", trained, other, *files, "--json")[0])
    assert "case:lc" in results["comparison"]["train.de"]["bleu"]["signature"]
    page = tmp_path / "page.html"
    (tmp_path / "link").symlink_to(trained)
    out, _ = run(capfdbinary, "compare", trained, other, *files, "-o", page)
    assert "train.de: 216 pairs, lower-cased" in out
    out, _ = run(capfdbinary, "compare", trained, tmp_path / "link", *files, "-o", page)
    assert "lower-cased" not in out


def test_evaluate_scores_an_ensemble(
    trained: Path, training: list[str], capfdbinary: Captured, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    run(capfdbinary, *training, "--run", other, "--training.seed", 2)

    def perplexity(*words: object) -> float:
        results = json.loads(run(capfdbinary, "evaluate", *words, "--json", "--precision", "fp32")[0])
        return float(results["held_out"]["perplexity"])

    alone = [perplexity(trained), perplexity(other)]
    assert perplexity(trained, trained, trained, "--ensemble") == alone[0]
    # The logarithm of a mean is at least the mean of the logarithms.
    assert perplexity(trained, other, "--ensemble") < math.sqrt(alone[0] * alone[1])
    out, _ = run(capfdbinary, "evaluate", trained, other, "--ensemble")
    assert f"{trained} + {other} on held_out: 216 pairs" in out
    error = fail(capfdbinary, "evaluate", trained, other, trained)
    assert "3 runs were given. Give one, two to compare, or add --ensemble" in error


def test_an_unwritable_output_is_reported_before_anything_is_computed(
    trained: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multihead.run.Run.load_model", lambda *_: pytest.fail("a model is loaded"))
    nowhere = tmp_path / "nowhere" / "page.html"
    assert "there is no folder" in fail(capfdbinary, "compare", trained, trained, "-o", nowhere)
    assert "there is no folder" in fail(capfdbinary, "inspect", trained, "eins", "-o", nowhere)
    assert "there is no folder" in fail(capfdbinary, "inspect", trained, "eins", "--json", nowhere)


def test_score_refuses_a_model_with_nonfinite_scores(
    trained: Path, corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured
) -> None:
    run_folder = tmp_path / "damaged"
    shutil.copytree(trained, run_folder)
    file = run_folder / "model.safetensors"
    weights, meta = tensors.load(file)
    nothing = {name: torch.full_like(weight, torch.nan) for name, weight in weights.items()}
    tensors.save(file, nothing, meta, Run(run_folder).origin)
    error = fail(capfdbinary, "score", run_folder, "--src", corpus[0], "--tgt", corpus[1])
    assert "pair 1: the model's log-probability is nan" in error
