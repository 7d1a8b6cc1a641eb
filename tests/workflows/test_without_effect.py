"""Given settings without effect in training are refused; those in a recipe file are not."""

from pathlib import Path

import pytest

from multihead import recipe as recipes
from multihead.apps.studies.sweep.plan import read_sweep
from multihead.errors import UserError
from multihead.tasks.translation.without_effect import refuse_without_effect
from multihead.workflows.resolve_recipe import resolve_recipe

VALID = {"data.valid_source": "v.de", "data.valid_target": "v.en"}


@pytest.mark.parametrize(
    ("others", "typed"),
    [
        ({"tokenizer.file": "t.json"}, {"tokenizer.vocab_size": 97}),
        ({"tokenizer.file": "t.json"}, {"tokenizer.kind": "words"}),
        ({"tokenizer.file": "t.json"}, {"tokenizer.split_digits": True}),
        (
            {"tokenizer.file": "a", "tokenizer.target_file": "b", "tokenizer.joint": False},
            {"tokenizer.sample_size": 9},
        ),
        ({"model.kind": "gpt", "tokenizer.file": "t.json"}, {"tokenizer.sample_size": 9}),
        ({"tokenizer.kind": "chars"}, {"tokenizer.min_frequency": 2}),
        ({"tokenizer.kind": "chars"}, {"tokenizer.split_digits": True}),
        (VALID, {"data.valid_fraction": 0.2}),
        (VALID, {"data.seed": 3}),
        ({"model.kind": "gpt", "data.valid_files": "v.txt"}, {"data.valid_fraction": 0.2}),
        ({"model.kind": "vit", "data.valid": "v.csv"}, {"data.seed": 3}),
        ({"data.source": "a.de", "data.target": "a.en"}, {"data.source_field": "2"}),
        ({"training.schedule": "noam"}, {"training.horizon": 97}),
        ({"training.final": "best"}, {"training.average": 3}),
        ({"model.kind": "vit"}, {"training.magnitude": 0.5}),
        ({"model.kind": "vit"}, {"data.generated": 97}),
        ({"model.kind": "vit"}, {"model.stem_width": 97}),
        ({"model.kind": "vit"}, {"model.classes": 3}),
        ({"model.positions": "sinusoidal"}, {"model.max_positions": 97}),
        ({"model.kind": "gpt", "model.positions": "none"}, {"model.vocab_size": 97}),
        ({"model.kind": "rnn_attention", "model.score": "general"}, {"model.d_alignment": 97}),
        ({"model.kind": "seq2seq"}, {"model.teacher_forcing_steps": 97}),
        ({"model.tied": "none"}, {"model.source_vocab": 97}),
    ],
    ids=str,
)
def test_a_given_setting_without_effect_is_refused_by_name(
    others: dict[str, object], typed: dict[str, object]
) -> None:
    recipe = recipes.from_toml("", overrides=others | typed)
    (key,) = typed
    with pytest.raises(UserError, match=rf"^--{key}: it has no effect .*\. Leave it out\.$"):
        refuse_without_effect(typed, recipe)
    refuse_without_effect(others, recipe)


@pytest.mark.parametrize(
    "typed",
    [
        {
            "tokenizer.file": "a",
            "tokenizer.joint": False,
            "tokenizer.vocab_size": 97,
        },  # the target's is trained
        {"tokenizer.min_frequency": 2, "tokenizer.split_digits": True},
        {"data.valid_fraction": 0.2, "data.seed": 3},
        {"data.source": "a.tsv", "data.source_field": "2"},
        {"training.schedule": "cosine", "training.horizon": 97},
        {"training.average": 3},
        {"model.positions": "learned", "model.max_positions": 297},
        {"model.kind": "vit", "data.generate": "digits", "data.generated": 97, "data.seed": 3},
        {"model.kind": "vit", "model.stem": "convolutional", "model.stem_width": 7},
        {"model.kind": "vit", "training.operations": 1, "training.magnitude": 0.5},
        {"model.kind": "rnn_attention", "model.d_alignment": 97},
        {"model.kind": "seq2seq", "model.teacher_forcing": 0.5, "model.teacher_forcing_steps": 97},
    ],
    ids=str,
)
def test_a_setting_with_effect_is_accepted(typed: dict[str, object]) -> None:
    refuse_without_effect(typed, recipes.from_toml("", overrides=typed))


def test_training_refuses_before_any_data_is_read(tmp_path: Path) -> None:
    nothing: dict[str, tuple[str, ...]] = {"source": (), "target": (), "valid_source": (), "valid_target": ()}
    with pytest.raises(UserError, match=r"^--training\.horizon: it has no effect but on"):
        resolve_recipe(
            "multi30k-en-de",
            nothing,
            {"training.horizon": "7", "training.schedule": "noam"},
            run=None,
            init=None,
        )
    with pytest.raises(UserError, match=r"^--data\.source: it has no effect together with the option"):
        resolve_recipe(
            "multi30k-en-de", nothing | {"source": ("a.de",)}, {"data.source": "b.de"}, run=None, init=None
        )
    (tmp_path / "sweep.toml").write_text('recipe = "multi30k-en-de"\ngrid.model.max_positions = [5, 7]\n')
    with pytest.raises(UserError, match=r"member max_positions=5: model\.max_positions: it has no effect"):
        read_sweep(str(tmp_path / "sweep.toml"))


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"training.final": "ema"}, "training.ema is 0: there is no moving average"),
        ({"training.final": "average", "training.average": 1}, "training.average is 1: nothing is averaged"),
    ],
)
def test_final_weights_that_cannot_exist_are_refused(given: dict[str, object], fact: str) -> None:
    with pytest.raises(UserError, match=rf"^training\.final: .*{fact}"):
        recipes.refuse_contradictions(recipes.from_toml("", overrides=given))
