"""Recipe keys as options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.cli import _keys
from multihead.recipe.settings import TrainingSettings

ALL = ("data", "tokenizer", "model", "training", "validation", "search")


@pytest.mark.parametrize(
    ("typed", "rest", "keys"),
    [
        (["--training.steps", "80"], [], {"training.steps": "80"}),
        (["--training.steps=80", "my.toml"], ["my.toml"], {"training.steps": "80"}),
        (["--training.warmup-steps", "7"], [], {"training.warmup_steps": "7"}),
        (["--training.compile", "--run", "r"], ["--run", "r"], {"training.compile": "true"}),
        (["--training.compile"], [], {"training.compile": "true"}),
        (["--search.length_penalty", "-0.5"], [], {"search.length_penalty": "-0.5"}),
        (["--data.source="], [], {"data.source": ""}),
        (["--data.tests.news", '["a.de", "b=c"]'], [], {"data.tests.news": '["a.de", "b=c"]'}),
        (["--model.d_ff=1", "--model.d_ff", "2"], [], {"model.d_ff": "2"}),
        (["--run", "a.b/c", "x.y", "-i", "f.txt"], ["--run", "a.b/c", "x.y", "-i", "f.txt"], {}),
    ],
)
def test_keys_are_separated_from_other_arguments(
    typed: list[str], rest: list[str], keys: dict[str, str]
) -> None:
    assert _keys.split(typed, sections=ALL) == (rest, keys)


def test_keys_of_a_short_section_may_omit_its_name() -> None:
    typed = ["run", "--beam-size", "4", "--n_best=2", "--search.top-k", "3", "--input", "f"]
    rest, keys = _keys.split(typed, sections=("search",), short="search")
    assert rest == ["run", "--input", "f"]
    assert keys == {"search.beam_size": "4", "search.n_best": "2", "search.top_k": "3"}


def test_without_sections_there_are_no_keys() -> None:
    assert _keys.split(["--training.steps", "80"], sections=()) == (["--training.steps", "80"], {})


@given(st.dictionaries(st.sampled_from(sorted(TrainingSettings.model_fields)), st.text(), max_size=5))
def test_values_are_passed_on_verbatim(values: dict[str, str]) -> None:
    typed = [f"--training.{key}={value}" for key, value in values.items()]
    assert _keys.split(typed, sections=ALL) == (
        [],
        {f"training.{key}": value for key, value in values.items()},
    )
