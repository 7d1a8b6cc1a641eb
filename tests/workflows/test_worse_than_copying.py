"""A model of two sides that hardly differ says when copying its input would be better."""

from pathlib import Path

import pytest
from watching import Silent

from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.train import train

FEW: dict[str, object] = {
    **{"training.steps": 2, "training.threads": 1, "validation.every": 2},
    **{"tokenizer.kind": "chars", "model.d_model": 16, "model.d_ff": 16, "model.num_heads": 2},
}


@pytest.mark.parametrize(("other", "is_near"), [(str.title, True), (str.upper, False)])
def test_a_model_that_is_worse_than_copying_says_so(tmp_path: Path, other: object, is_near: bool) -> None:
    assert callable(other)
    words = ["house", "mouse", "tree", "leaves", "river", "stone", "lemon"]
    lines = [f"{a} {b} {c}" for a in words for b in words for c in words]
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "b").write_text("".join(f"{other(line)}\n" for line in lines))
    files = {"source": (str(tmp_path / "a"),), "target": (str(tmp_path / "b"),)}
    recipe = resolve_recipe(
        None, {**files, "valid_source": (), "valid_target": ()}, FEW, run=tmp_path / "run", init=None
    )
    train(recipe, tmp_path / "run", Silent())
    samples = (tmp_path / "run" / "samples.txt").read_text(encoding="utf-8")
    assert ("worse than copying: outputs differ" in samples) == is_near
