"""torch.compile: a single graph, and the same bytes after resuming. Needs a C++ compiler."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from backwards import (
    BOS,
    EOS,
    PAD,
    V,
    contents,
    fit,
    mean_loss,
    pairs_of,
    small_transformer,
    strings,
    training_in,
)
from torch import nn
from torch._dynamo.utils import counters

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.errors import UserError
from multihead.nn import FeedForward, Loss, MultiHeadAttention, PreNorm, TokenEmbedding, masks
from multihead.nn.parts.uncompiled import leave_out_uncompiled
from multihead.nn.parts.window import WindowAttention
from multihead.nn.teacher_forcing import next_token_loss
from multihead.training.compiling import compile_loss

D = 24

needs_compiler = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "g++")) is None, reason="no C++ compiler (g++) for torch.compile"
)


class Bigrams(nn.Module):
    """Predicts a token from the one before: a small model with every part of a compiled loss."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(V, D)
        self.residual = PreNorm(D, 0.1)
        self.feed_forward = FeedForward(D, 211)

    def loss(self, batch: PairBatch, step: int) -> Loss:
        x_BTd = self.residual(self.embedding(batch.target_in), self.feed_forward)
        return next_token_loss(x_BTd, self.embedding.weight, batch, 0.1)


class Windowed(nn.Module):
    """Predicts a token from the window around it: the embedding, restricted self-attention and the loss."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(V, D)
        self.attention = MultiHeadAttention(D, 3, score=WindowAttention(3, 2, dilation=dilation))

    def loss(self, batch: PairBatch, step: int) -> Loss:
        x_BTd = self.embedding(batch.target_in)
        y_BTd = self.attention(x_BTd, x_BTd, masks.padding(batch.target_lengths_B, x_BTd.shape[1]))
        return next_token_loss(y_BTd, self.embedding.weight, batch, 0.1)


def bigrams() -> Bigrams:
    torch.manual_seed(5)
    return Bigrams()


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@needs_compiler
@pytest.mark.usefixtures("two_threads")
@pytest.mark.long
def test_a_resumed_compiled_run_ends_as_an_uninterrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")

    def train(name: str, steps: int) -> None:
        # As in a new process: nothing compiled, and an empty compilation cache on disk.
        torch._dynamo.reset()
        counters.clear()
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / f"cache-{name}-{steps}"))
        settings: dict[str, object] = {"compile": True, "steps": steps, "batch_tokens": 401, "log_every": 1}
        fit(training_in(tmp_path / name, bigrams(), settings=settings))
        assert counters["inductor"]

    train("whole", 20)
    train("parts", 10)
    train("parts", 20)
    whole, parts = contents(tmp_path / "whole"), contents(tmp_path / "parts")
    assert {name for name in parts if parts[name] != whole.get(name)} == {"events"}
    held_out = pairs_of(strings(31, 9, seed=2))
    assert whole["events"][-1]["metrics"]["loss"] < mean_loss(bigrams(), held_out)  # type: ignore[index]


def test_the_transformer_is_one_graph_up_to_its_loss() -> None:
    sources = strings(7, 11, seed=1)
    batch = collate(sources, sources[::-1], pad_id=PAD, bos_id=BOS, eos_id=EOS)
    model = small_transformer(attention_dropout=0.1, activation_dropout=0.1)
    torch._dynamo.reset()
    leave_out_uncompiled()
    explained = torch._dynamo.explain(model.loss)(batch, 1)
    assert explained.graph_count == 1
    assert [str(reason.reason).split("\n")[0] for reason in explained.break_reasons] == [
        "Skip calling `torch.compiler.disable()`d function"
    ]


@pytest.mark.parametrize("dilation", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_window_is_traced_with_any_lengths(dilation: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(5)
    model = Windowed(dilation)
    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    traced = compile_loss(model.loss)  # type: ignore[arg-type]
    for rows, length in ((7, 11), (5, 13)):
        sources = strings(rows, length, seed=1)
        batch = collate(sources, strings(rows, length - 2, seed=2), pad_id=PAD, bos_id=BOS, eos_id=EOS)
        found, expected = traced(batch, 1)["nll"].sum, model.loss(batch, 1)["nll"].sum
        assert float(found) == pytest.approx(float(expected), rel=1e-5)


def test_a_start_without_compiling_does_not_load_the_compiler() -> None:
    code = "import sys, multihead.tasks.translation.lines; sys.exit('torch._dynamo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@needs_compiler
@pytest.mark.filterwarnings("ignore")
def test_a_changed_layer_that_cannot_be_compiled_is_refused(tmp_path: Path) -> None:
    made = small_transformer()
    for part in [part for part in made.modules() if isinstance(part, FeedForward)]:
        part.register_forward_hook(lambda module, given, out: out / (1 + out.abs().max().item()))
    with pytest.raises(UserError, match=r"training\.compile: the model cannot be compiled"):
        fit(training_in(tmp_path, made, settings={"compile": True}))
