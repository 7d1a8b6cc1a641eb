from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from watching import Silent

from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.translation.lines import Translator
from multihead.training import Outcome, Training
from multihead.workflows.train import train

Make = Callable[..., Recipe[Settings]]


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_run_folder_has_all_documented_files_and_translates(tmp_path: Path, small: Make) -> None:
    observer = Silent()
    outcome = train(small(), tmp_path / "run", observer)

    assert outcome.status == "finished"
    assert [event["step"] for event in observer.validations] == [2, 4, 6]
    assert {"loss", "perplexity", "bleu", "chrf", "accuracy"} <= observer.validations[0].keys()
    present = {path.name for path in (tmp_path / "run").iterdir()}
    assert present >= {
        "recipe.toml",
        "environment.json",
        "tokenizer.json",
        "model.json",
        "model.safetensors",
        "metrics.jsonl",
        "samples.txt",
        "curves.svg",
        "checkpoints",
    }
    recipe = Run.open(tmp_path / "run").recipe
    assert recipe.values()["model.source_vocab"] == recipe.values()["model.target_vocab"]
    assert recipe.training.horizon == 6
    translations = Translator.load(tmp_path / "run").translate(["rot und blau", "", "Hund"])
    assert [translation.text == "" for translation in translations][1]


def test_a_run_interrupted_anywhere_ends_with_the_same_bytes(tmp_path: Path, small: Make) -> None:
    recipe = small(tokenizer__kind="bpe", tokenizer__vocab_size=320, tokenizer__dropout=0.2)
    train(recipe, tmp_path / "whole", Silent())

    # Saved every second step, just after the event of that step.
    for moment, saved in ((1, 0), (4, 2), (5, 4)):

        def object_at(event: dict[str, object], moment: int = moment) -> None:
            if event["step"] == moment:
                raise KeyError("pulled the plug")

        cut = tmp_path / f"cut-{moment}"
        with pytest.raises(KeyError):
            train(recipe, cut, Silent(object_at))
        observer = Silent()
        train(recipe, cut, observer)
        assert observer.began_at == saved
        assert weights(cut) == weights(tmp_path / "whole")


def test_a_finished_run_returns_its_outcome_and_changes_nothing(tmp_path: Path, small: Make) -> None:
    first = train(small(), tmp_path / "run", Silent())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.safetensors")}
    observer = Silent()
    again = train(small(), tmp_path / "run", observer)

    assert (again.status, again.weights, again.metrics) == (first.status, first.weights, first.metrics)
    assert not observer.updates
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.safetensors")}


def test_an_extended_run_equals_one_that_was_long_from_the_start(tmp_path: Path, small: Make) -> None:
    train(small(training__steps=4, training__horizon=8), tmp_path / "grown", Silent())
    train(small(training__steps=8), tmp_path / "grown", Silent())
    train(small(training__steps=8, training__horizon=8), tmp_path / "long", Silent())
    assert weights(tmp_path / "grown") == weights(tmp_path / "long")


def test_other_settings_are_refused_by_name(tmp_path: Path, small: Make) -> None:
    train(small(), tmp_path / "run", Silent())
    with pytest.raises(UserError, match=r"model\.d_ff: 22 -> 23"):
        train(small(model__d_ff=23), tmp_path / "run", Silent())
    # The folder's lock is released, even within the same process.
    assert train(small(), tmp_path / "run", Silent()).status == "finished"


def test_other_data_is_refused(tmp_path: Path, small: Make, corpus: Path) -> None:
    train(small(), tmp_path / "run", Silent())
    for side in ("de", "en"):
        shorter = (corpus / f"train.{side}").read_text(encoding="utf-8").split("\n")[:199]
        (tmp_path / f"train.{side}").write_text("\n".join(shorter) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match="other data"):
        train(small(data__dir=str(tmp_path)), tmp_path / "run", Silent())


def test_fine_tuning_starts_from_the_old_weights_and_vocabulary(tmp_path: Path, small: Make) -> None:
    train(small(), tmp_path / "old", Silent())
    tiny_rate = small(training__learning_rate=1e-12, training__steps=1, training__final="last")
    train(tiny_rate, tmp_path / "new", Silent(), init=tmp_path / "old")

    old, new = (Run.open(tmp_path / name).load_model().state_dict() for name in ("old", "new"))
    assert all((old[name] - new[name]).abs().max() < 1e-6 for name in old)
    assert (tmp_path / "old/tokenizer.json").read_bytes() == (tmp_path / "new/tokenizer.json").read_bytes()


def test_fine_tuning_is_saved_before_its_first_update(
    tmp_path: Path, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(small(), tmp_path / "old", Silent())

    def killed(training: Training) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "fit", killed)
    with pytest.raises(KeyboardInterrupt):
        train(small(), tmp_path / "new", Silent(), init=tmp_path / "old")
    (state,) = (tmp_path / "new" / "checkpoints").glob("state-*.safetensors")
    saved, old = load_file(state), Run.open(tmp_path / "old").load_model().state_dict()
    same = [
        torch.equal(saved[f"model.{name}"], weight)
        for name, weight in old.items()
        if f"model.{name}" in saved
    ]
    assert len(same) > 9
    assert all(same)


def test_fine_tuning_a_model_of_other_sizes_is_refused(tmp_path: Path, small: Make) -> None:
    train(small(), tmp_path / "old", Silent())
    with pytest.raises(UserError, match="its weights do not fit this recipe's model"):
        train(small(model__d_ff=29), tmp_path / "new", Silent(), init=tmp_path / "old")


def test_early_stopping_gives_its_reason(tmp_path: Path, small: Make) -> None:
    recipe = small(training__steps=40, validation__patience=2, training__learning_rate=1e-9)
    outcome = train(recipe, tmp_path / "run", Silent())
    assert outcome.progress.step < 40
    assert "in 2 validations" in outcome.progress.stopped


def test_curves_that_cannot_be_written_do_not_stop_training(tmp_path: Path, small: Make) -> None:
    folder = tmp_path / "run"
    train(small(training__horizon=8), folder, Silent())
    (folder / "curves.svg").unlink()
    (folder / "curves.svg").mkdir()
    with pytest.warns(UserWarning, match=r"curves\.svg and report\.html could not be written"):
        assert train(small(training__horizon=8, training__steps=8), folder, Silent()).status == "finished"


def test_another_setting_is_refused_before_the_data_is_read(tmp_path: Path, small: Make) -> None:
    train(small(), tmp_path / "run", Silent())
    stages: list[str] = []

    class Recording(Silent):
        def on_preparation(self, stage: str, done: int, total: int | None) -> None:
            stages.append(stage)

    for changed in ({"model__d_model": 16}, {"training__learning_rate": 0.5}, {"data__source": "train.en"}):
        with pytest.raises(UserError, match=r"started with other settings.* -> "):
            train(small(**changed), tmp_path / "run", Recording())
    assert not stages


def test_the_error_for_a_model_of_other_sizes_gives_both_shapes(tmp_path: Path, small: Make) -> None:
    train(small(), tmp_path / "run", Silent())
    with pytest.raises(
        UserError, match=r"do not fit this recipe's model \(.*: \(\d+, 14\), here \(\d+, 16\)\)"
    ):
        train(small(model__d_model=16), tmp_path / "other", Silent(), init=tmp_path / "run")
