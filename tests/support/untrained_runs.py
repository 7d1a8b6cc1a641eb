"""Run folders of models of texts that were never trained."""

from pathlib import Path
from typing import Any

import torch

from multihead import recipe as recipes
from multihead.recipe import model_kinds
from multihead.run import Run
from multihead.run.environment import environment
from multihead.tasks.masked import mask_tokens as masking
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.text import lossless

OLD = 17
SIZES: dict[str, Any] = {"d_model": 12, "num_layers": 2, "num_heads": 3}
TEXT = "the king said that the king is the king and that it is so"


def made(folder: Path, kind: str, **changed: Any) -> Path:
    """Write the run folder of an untrained model."""
    if kind == "gpt":
        tokenizer, length = lossless.learn([TEXT], "chars", 60, 1), "context"
    else:
        settings = TokenizerSettings(vocab_size=70)
        tokenizer, length = masking.learn([TEXT, TEXT], settings, lowercase=False), "max_positions"
    given = {**SIZES, "vocab_size": tokenizer.vocab_size, length: OLD, **changed}
    overrides = {f"model.{key}": value for key, value in given.items()}
    data = {} if kind == "gpt" else {"data.max_length": OLD}
    if kind == "bert_spans":
        data |= {"data.max_question": 4, "data.stride": 5}
    recipe = recipes.from_toml("", overrides={"name": "old", "model.kind": kind, **overrides, **data})
    torch.manual_seed(3)
    model = model_kinds.load(kind).Model(recipe.model)
    for weight in model.parameters():
        weight.data.mul_(2)
    with Run.create(folder, recipe, [tokenizer], environment({})) as written:
        written.save_model(model.state_dict(), {})
    return folder
