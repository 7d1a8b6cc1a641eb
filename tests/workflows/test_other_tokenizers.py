"""Every kind of tokenizer trains on a new corpus without further settings."""

from pathlib import Path
from typing import get_args

import pytest
from watching import Silent

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.training import train as train_tokenizer
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.train import train

KINDS = get_args(TokenizerSettings.model_fields["kind"].annotation)
FEW: dict[str, object] = {"training.steps": 2, "training.threads": 1, "validation.every": 2}


def trained(corpus: Path, run: Path, given: dict[str, object]) -> str:
    files = {"source": (str(corpus / "train.de"),), "target": (str(corpus / "train.en"),)}
    recipe = resolve_recipe(
        None, {**files, "valid_source": (), "valid_target": ()}, given | FEW, run=run, init=None
    )
    return train(recipe, run, Silent()).status


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tokenizer_trains_on_a_new_corpus(corpus: Path, tmp_path: Path, kind: str) -> None:
    assert trained(corpus, tmp_path / "run", {"tokenizer.kind": kind}) == "finished"


def test_a_tokenizer_file_of_another_kind_trains_on_a_new_corpus(corpus: Path, tmp_path: Path) -> None:
    text = (corpus / "train.de").read_text(encoding="utf-8").split("\n")
    file = tmp_path / "tokenizer.json"
    train_tokenizer(text, TokenizerSettings(kind="wordpiece", vocab_size=61)).save(file)
    assert trained(corpus, tmp_path / "run", {"tokenizer.file": str(file)}) == "finished"
    with pytest.raises(UserError, match="BPE-dropout needs a plain BPE tokenizer"):
        trained(corpus, tmp_path / "other", {"tokenizer.file": str(file), "tokenizer.dropout": 0.1})
    assert not (tmp_path / "other").exists()
