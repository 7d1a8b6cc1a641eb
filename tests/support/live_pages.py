"""Small models for exported pages, and their engine run by node."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from multihead.apps.export.page import PageParts, parts
from multihead.batch import PairBatch, Source
from multihead.models.transformer import Settings, Transformer
from multihead.nn.losses import objective
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.run import Run
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train
from multihead.training.eager_optimizers import Adam

NODE = shutil.which("node")
WORDS = ["ein", "Hund", "läuft", "über", "die", "Wiese", "und", "zwei", "Katzen", "schlafen", "7", "grün"]
SMALL = {"d_model": 40, "d_ff": 72, "num_heads": 5, "num_layers": 2, "dropout": 0.0}
"""Widths that are no multiples of a register, a panel or a word of four bytes."""


def lines(count: int, seed: int = 5) -> list[str]:
    chance = np.random.default_rng(seed)
    return [" ".join(chance.choice(WORDS, size=chance.integers(1, 11))) for _ in range(count)]


def vocabulary(**given: object) -> Tokenizer:
    settings = {"kind": "bpe", "vocab_size": 301, **given}
    return train(lines(97), TokenizerSettings.model_validate(settings))


def reversing(tokenizer: Tokenizer, steps: int = 40, **given: object) -> Transformer:
    """A Transformer half trained to reverse its source, so that its outputs differ and end."""
    torch.manual_seed(3)
    size = tokenizer.vocab_size
    options = {"source_vocab": size, "target_vocab": size, **SMALL, **given}
    model = Transformer(Settings.model_validate(options))
    optimizer = Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        sources = [tokenizer.encode(text) for text in lines(43, seed=step)]
        source_BS = _padded([[*ids, tokenizer.eos_id] for ids in sources])
        target_BT = _padded([[tokenizer.bos_id, *reversed(ids), tokenizer.eos_id] for ids in sources])
        lengths_B = torch.tensor([len(ids) + 1 for ids in sources])
        batch = PairBatch(Source(source_BS, lengths_B), target_BT, lengths_B, int(lengths_B.sum()))
        optimizer.zero_grad()
        objective(model.loss(batch, 0), batch.counts).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model.eval()


def _padded(rows: list[list[int]]) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def run_of(model: Any, tokenizer: Tokenizer, **given: object) -> Run:
    """The parts of a run folder that a page is made of."""
    data = SimpleNamespace(source_language="de", target_language="en")
    found = {
        "folder": Path("runs/small"),
        "directions": [],
        "tokenizers": lambda: (tokenizer, tokenizer),
        "load_model": lambda: model,
        "recipe": SimpleNamespace(search=SearchSettings(max_extra=7), data=data),
    }
    return cast(Run, SimpleNamespace(**{**found, **given}))


def page_parts(model: Any, tokenizer: Tokenizer, *, exact: bool = False, **given: Any) -> PageParts:
    return parts(run_of(model, tokenizer, **given), lines(11, seed=1000), exact=exact)


def in_node(made: PageParts, folder: Path, requests: Sequence[dict[str, Any]]) -> list[Any]:
    """Run the scripts of a page's worker in node; return the answer to each request."""
    if NODE is None:
        pytest.skip("no node on this machine")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights.bin").write_bytes(made.weights)
    content = {
        "facts": made.facts,
        "vocabularies": made.vocabularies,
        "scripts": [
            str(path)
            for path in made.worker
            if path.name != "blocks.js" and not path.name.endswith("worker.js")
        ],
        "requests": list(requests),
    }
    (folder / "content.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "engine.wasm").write_bytes(made.engine)
    script = Path(__file__).with_name("page_engine.cjs")
    done = subprocess.run([NODE, str(script), str(folder)], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return cast(list[Any], json.loads(done.stdout))
