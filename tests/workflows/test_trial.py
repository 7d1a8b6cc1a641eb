"""Two close choices are trained briefly, and the better one is kept."""

import random
from pathlib import Path

import pytest
from made_up_pairs import from_hebrew, into_cyrillic, misspelt, named, pronounced, translated
from watching import Silent

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.translation.suggest import RequestedSettings, alternative, profile, suggest
from multihead.workflows import suggested_recipe, trial
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.train import train

TINY = {
    **{"model.d_model": 8, "model.d_ff": 8, "model.num_layers": 1, "model.num_heads": 2},
    **{"training.steps": 3, "training.threads": 1, "training.batch_tokens": 307, "search.beam_size": 1},
    **{"training.precision": "fp32"},
}


@pytest.mark.parametrize("make", [pronounced, translated, into_cyrillic, from_hebrew])
def test_a_clear_decision_has_no_alternative(make: object) -> None:
    chance = random.Random(3)
    assert alternative(profile([make(chance) for _ in range(211)])) is None  # type: ignore[operator]


def test_short_lines_of_words_may_be_spelt_or_split() -> None:
    chance = random.Random(3)
    corpus = profile([named(chance) for _ in range(211)])
    other = alternative(corpus)
    assert other is not None
    assert {other.kind, other.target_kind} <= {"bpe", "chars"}


def test_near_sides_may_be_spelt() -> None:
    chance = random.Random(3)
    corpus = profile([misspelt(chance) for _ in range(211)])
    assert suggest(corpus).settings["tokenizer.kind"] == "chars"
    assert alternative(corpus) == RequestedSettings(kind="bpe", target_kind="bpe")


@pytest.mark.parametrize(("speed", "tries"), [(3_000.0, True), (30.0, False)])
def test_limited_time_is_enough_for_trials_or_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speed: float, tries: bool
) -> None:
    chance = random.Random(3)
    file = tmp_path / "pairs.tsv"
    file.write_text("".join("\t".join(misspelt(chance)) + "\n" for _ in range(311)), encoding="utf-8")
    monkeypatch.setattr(suggested_recipe, "tokens_per_second", lambda *_: speed)
    given = {"training.minutes": "30"}
    recipe = resolve_recipe(None, {"source": (str(file),)}, given, run=tmp_path / "run", init=None)
    assert (recipe.alternative is not None) == tries


def test_a_choice_that_was_asked_for_is_not_tried_against_another() -> None:
    chance = random.Random(3)
    corpus = profile([named(chance) for _ in range(211)])
    assert alternative(corpus, RequestedSettings(kind="chars", joint=True)) is None


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    chance = random.Random(3)
    file = tmp_path / "names.tsv"
    file.write_text("".join("\t".join(named(chance)) + "\n" for _ in range(311)), encoding="utf-8")
    return file


def resolved(corpus: Path, run: Path | None = None) -> Recipe[Settings]:
    given = {**TINY, "data.cache": str(corpus.parent / "cache")}
    return resolve_recipe(None, {"source": (str(corpus),)}, given, run=run, init=None)


@pytest.mark.parametrize("better", [0, 1])
def test_the_recipe_with_fewer_nats_a_character_is_kept(
    better: int, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nats = iter((0.7, 0.9) if better == 0 else (0.9, 0.7))
    monkeypatch.setattr(trial, "_judge", lambda *_: next(nats))
    (tmp_path / "run.trial").mkdir()
    recipe = resolved(corpus)
    assert recipe.alternative is not None
    chosen = trial.settle_alternative(recipe, tmp_path / "run", Silent())
    assert chosen == (recipe, recipe.alternative)[better]
    assert "0.700 nats a held-out character, against 0.900" in chosen.reasons["tokenizer.kind"]


def test_both_are_trained_and_the_run_keeps_its_choice(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "UPDATES", 3)
    monkeypatch.setattr(trial, "SHORTEST", 2)
    recipe, run = resolved(corpus), tmp_path / "run"
    chosen = trial.settle_alternative(recipe, run, Silent())
    assert not (tmp_path / "run.trial").exists()
    train(chosen, run, Silent())
    assert "nats a held-out character" in (run / "recipe.toml").read_text(encoding="utf-8")
    again = trial.settle_alternative(resolved(corpus, run), run, Silent())
    assert again.tokenizer.kinds == Run.open(run).recipe.tokenizer.kinds == chosen.tokenizer.kinds


def test_an_interrupted_trial_is_resumed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "UPDATES", 3)
    monkeypatch.setattr(trial, "SHORTEST", 2)
    recipe, run = resolved(corpus), tmp_path / "run"
    kept, begun = trial._judge, 0

    def cut(*given: object) -> float:
        nonlocal begun
        begun += 1
        if begun == 2:
            raise KeyboardInterrupt
        return kept(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(trial, "_judge", cut)
    with pytest.raises(KeyboardInterrupt):
        trial.settle_alternative(recipe, run, Silent())
    first = (tmp_path / "run.trial" / "0" / "model.safetensors").read_bytes()
    monkeypatch.setattr(trial, "_judge", kept)
    trial.settle_alternative(recipe, run, Silent())
    assert first
    assert not (tmp_path / "run.trial").exists()
