"""Small runs to export: translators that have learned a little, and other models with random weights."""

import random
from pathlib import Path
from typing import Any

import torch
from torch import nn

from multihead import recipe as recipes
from multihead.data.batches import collate
from multihead.nn.losses import objective
from multihead.recipe import model_kinds
from multihead.recipe.settings import TokenizerSettings
from multihead.run import Run
from multihead.run.environment import environment
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train
from multihead.training.eager_optimizers import Adam

GERMAN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
ENGLISH = ["one", "two", "three", "four", "five", "six", "seven"]


def sentences(count: int) -> list[tuple[str, str]]:
    """Return sentences of number words and their translations, in reverse."""
    chance = random.Random(5)
    numbers = [chance.choices(range(7), k=chance.randrange(1, 8)) for _ in range(count)]
    return [
        (" ".join(GERMAN[n] for n in line), " ".join(ENGLISH[n] for n in reversed(line))) for line in numbers
    ]


def translator_run(folder: Path, kind: str = "bpe", steps: int = 60, **model: Any) -> Run:
    """Return the run of a Transformer that has seen some sentences; keys of [model] may be given.

    Without steps it has random weights, which is enough to be refused.
    """
    pairs = sentences(200)
    tokenizer = train(
        [text for pair in pairs for text in pair],
        TokenizerSettings.model_validate({"kind": kind, "vocab_size": 300}),
    )
    widths = {"d_model": 22, "d_ff": 37, "num_heads": 2, "num_layers": 2, "dropout": 0.0, "max_positions": 61}
    own = {f"model.{key}": value for key, value in {**widths, **model}.items()}
    languages = {"data.source_language": "de", "data.target_language": "en"}
    search = {"search.beam_size": 3, "search.max_extra": 7}
    recipe = recipes.from_toml("", overrides={"name": "small", **languages, **search, **own})
    recipe = recipes.with_vocabularies(recipe, tokenizer.vocab_size, tokenizer.vocab_size)
    torch.manual_seed(3)
    made: Any = model_kinds.load(recipe.kind).Model(recipe.model)
    optimizer = Adam(made.parameters(), lr=5e-3)
    for step in range(steps):
        some = pairs[step % 5 :: 5]
        texts = [tokenizer.encode_batch([pair[side] for pair in some]) for side in (0, 1)]
        ids = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id
        batch = collate(texts[0], texts[1], pad_id=ids[0], bos_id=ids[1], eos_id=ids[2])
        optimizer.zero_grad()
        objective(made.loss(batch, step), batch.counts).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return _written(folder, recipe, (tokenizer, tokenizer), made)


def other_run(folder: Path, kind: str, tokenizers: tuple[Tokenizer, ...], **model: Any) -> Run:
    """Return the run of a model of another kind, with random weights."""
    own = {f"model.{key}": value for key, value in model.items()}
    recipe = recipes.from_toml("", overrides={"name": "small", "model.kind": kind, **own})
    torch.manual_seed(7)
    made: nn.Module = model_kinds.load(kind).Model(recipe.model)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return _written(folder, recipe, tokenizers, made)


def _written(folder: Path, recipe: Any, tokenizers: tuple[Tokenizer, ...], model: nn.Module) -> Run:
    with Run.create(folder, recipe, tokenizers, environment({"files": [], "fingerprint": "made"})) as run:
        run.save_model(model.state_dict(), {"step": 60})
    return run
