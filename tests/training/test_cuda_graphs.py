"""CUDA graphs compute what single kernels compute, and runs that use them resume. Needs a GPU."""

from pathlib import Path
from typing import Any

import pytest
import torch
from backwards import (
    BOS,
    EOS,
    PAD,
    contents,
    fit,
    mean_loss,
    pairs_of,
    small_transformer,
    strings,
    training_in,
)
from torch.testing import assert_close

from multihead.batch import PairBatch
from multihead.data.batches import BatchStream, Shapes, collate
from multihead.errors import UserError
from multihead.recipe.settings import TrainingSettings
from multihead.run import Run
from multihead.training import optimizers
from multihead.training.cuda_graphs import CudaGraphUpdater
from multihead.training.update import Updater, UpdateStats

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
GPU = torch.device("cuda")
FEW = Shapes(multiple=8, few_rows=True)


def batches(count: int, tokens: int = 301) -> list[PairBatch]:
    stream = BatchStream(
        pairs_of(strings(211, 9, seed=1)),
        batch_tokens=tokens,
        seed=3,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        shapes=FEW,
    )
    return [batch for (batch, _), _ in zip(stream, range(count), strict=False)]


def updates(
    kind: type[Updater], parts: int = 1, **given: object
) -> tuple[torch.nn.Module, list[UpdateStats]]:
    """Make thirty updates with dropout, over recurring shapes."""
    model = small_transformer(dropout=0.2, d_model=48, num_heads=3).to(GPU)
    settings = TrainingSettings.model_validate({"precision": "fp32", "device": "cuda"} | given)
    optimizer = optimizers.make_optimizer(model, settings)
    updater, stats = kind(model, optimizer, settings, GPU), []
    for step in range(1, 31):
        optimizers.set_rate(optimizer, 1e-3 * min(step, 10) / 10)
        stats += updater.update(step, batches(parts * step)[-parts:])
    return model, stats + updater.synchronize()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("parts", [1, 3])
def test_graphs_compute_what_single_kernels_compute(precision: str, parts: int) -> None:
    model, stats = updates(CudaGraphUpdater, parts, precision=precision)
    other, others_stats = updates(Updater, parts, precision=precision)
    loose = precision == "bf16"
    if not loose:  # in bf16 the key biases, whose exact gradient is 0, drift with the rounding errors
        assert_close(model.state_dict(), other.state_dict(), atol=1e-5, rtol=1e-4)
    assert len(stats) == len(others_stats) == 30
    for one, another in zip(stats, others_stats, strict=True):
        assert one.counts == another.counts
        assert one.sums == pytest.approx(another.sums, rel=1e-2 if loose else 1e-4, abs=8 if loose else 0)
        assert one.norm == pytest.approx(another.norm, rel=5e-2 if loose else 1e-3)


def test_graphs_make_the_same_muon_steps() -> None:
    (_, stats), (_, others_stats) = (updates(kind, optimizer="muon") for kind in (CudaGraphUpdater, Updater))
    for one, another in zip(stats, others_stats, strict=True):
        assert one.sums == pytest.approx(another.sums, rel=2e-2, abs=3)


def test_a_run_with_graphs_learns_string_reversal_and_resumes(tmp_path: Path) -> None:
    given = {"device": "cuda", "steps": 60, "horizon": 60, "precision": "bf16", "batch_tokens": 1009}
    pairs = pairs_of(strings(997, 7, seed=1))
    whole = training_in(tmp_path / "whole", pairs=pairs, settings=given)
    assert isinstance(whole.recovery.updater, CudaGraphUpdater)
    before = mean_loss(whole.model, pairs)
    fit(whole)
    assert mean_loss(whole.model, pairs) < 0.8 * before
    fit(training_in(tmp_path / "cut", pairs=pairs, settings={**given, "steps": 23}))
    again = training_in(tmp_path / "cut", pairs=pairs, settings=given)
    assert again.progress.step == 23
    fit(again)
    for weight, other in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert_close(weight, other, atol=2e-2, rtol=0.1)
    names = {name for name in contents(tmp_path / "whole") if "state" in name}
    assert names == {name for name in contents(tmp_path / "cut") if "state" in name}


def test_training_stops_at_a_gradient_that_is_not_finite_before_saving(tmp_path: Path) -> None:
    training = training_in(tmp_path, settings={"device": "cuda", "learning_rate": 1e30, "clip_norm": 0.0})
    with pytest.raises(UserError, match="is not finite"):
        fit(training)
    assert not any(torch.isnan(t).any() for t in (Run(tmp_path).load_state() or ({}, {}))[0].values())


def test_padding_rows_add_nothing_to_loss_and_gradient() -> None:
    sources = strings(17, 9, seed=4)
    model = small_transformer(dropout=0.0).to(GPU)
    given: dict[str, Any] = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS}
    plain = collate(sources, [s[::-1] for s in sources], **given)
    filled = collate(sources, [s[::-1] for s in sources], shapes=FEW, **given)
    assert filled.target_BT.shape[0] == 18
    gradients = []
    for batch in (plain, filled):
        model.zero_grad()
        loss = model.loss(batch.to(GPU), 1)
        loss["loss"].sum.backward()  # type: ignore[no-untyped-call]
        found = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        gradients.append(([term.sum.item() for term in loss.values()], found))
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-4)
    assert_close(gradients[0][1], gradients[1][1], atol=1e-4, rtol=1e-3)
