"""Sizes for a model of one's own, whose settings are those of a built-in model or extend them."""

from pathlib import Path

import pytest

from multihead.workflows.suggested_recipe import suggest_recipe

SAME = "from multihead.models.transformer import Model, Settings\n"
EXTENDED = """
from multihead.models import transformer
Model = transformer.Model
class Settings(transformer.Settings):
    d_model: int = 48
    gates: int = 3
"""
OTHER = """
from torch import nn
from multihead.recipe import settings
class Settings(settings.Settings):
    d_model: int = 48
class Model(nn.Module): ...
"""


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, tuple[str, ...]]:
    for side, first in (("de", "sieben"), ("en", "seven")):
        lines = "".join(f"{first} {n} {'word ' * (n % 5)}{n % 7}.\n" for n in range(300))
        (tmp_path / f"train.{side}").write_text(lines, encoding="utf-8")
    return {"source": (str(tmp_path / "train.de"),), "target": (str(tmp_path / "train.en"),)}


def test_a_model_with_a_built_in_models_settings_gets_its_sizes(
    corpus: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(SAME, encoding="utf-8")
    for joint in ({}, {"tokenizer.joint": False}, {"tokenizer.kind": "words"}):
        own = suggest_recipe(corpus, {"model.kind": str(tmp_path / "mine.py"), **joint}, {})
        built_in = suggest_recipe(corpus, {"model.kind": "transformer", **joint}, {})
        assert own.model == built_in.model
        assert own.training == built_in.training
        assert own.tokenizer == built_in.tokenizer


def test_defaults_of_its_own_stay(corpus: dict[str, tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EXTENDED, encoding="utf-8")
    own = suggest_recipe(corpus, {"model.kind": str(tmp_path / "mine.py")}, {}).model
    built_in = suggest_recipe(corpus, {}, {}).model
    assert (own.d_model, own.gates) == (48, 3)  # type: ignore[attr-defined]
    assert own.num_layers == built_in.num_layers  # type: ignore[attr-defined]
    given = {"model.kind": str(tmp_path / "mine.py"), "model.d_model": 64}
    assert suggest_recipe(corpus, given, {}).model.d_model == 64  # type: ignore[attr-defined]


def test_another_model_starts_from_its_own_defaults(
    corpus: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(OTHER, encoding="utf-8")
    assert suggest_recipe(corpus, {"model.kind": str(tmp_path / "mine.py")}, {}).model.d_model == 48  # type: ignore[attr-defined]
