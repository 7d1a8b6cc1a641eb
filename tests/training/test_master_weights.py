"""Weights in another format beside the trained ones: same loss, same gradient, the model untouched."""

import pytest
import torch
from backwards import BOS, EOS, PAD, small_transformer, strings
from torch import nn
from torch.testing import assert_close

from multihead.batch import PairBatch, PictureBatch
from multihead.data.batches import collate
from multihead.models.vit import Settings, VisionTransformer
from multihead.nn.losses import objective
from multihead.training.master_weights import MasterWeights


def pairs() -> PairBatch:
    sources = strings(13, 7, seed=3)
    return collate(sources, [s[::-1] for s in sources], pad_id=PAD, bos_id=BOS, eos_id=EOS)


def shadowed(model: nn.Module, dtype: torch.dtype) -> MasterWeights:
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    return MasterWeights(model, dtype)


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("tied", ["all", "decoder", "none"])
def test_gradients_arrive_at_the_weights_and_add_up(tied: str) -> None:
    model = small_transformer(dropout=0.0, tied=tied)
    before = {name: id(p) for name, p in model.named_parameters(remove_duplicate=False)}
    batch = pairs()
    loss = model.loss(batch, 1)
    objective(loss, batch.counts).backward()  # type: ignore[no-untyped-call]
    wanted = gradients(model)
    shadow = shadowed(model, torch.float64)  # finer, so that only the road differs
    for _ in range(2):
        found = shadow.loss(batch, 1)
        assert float(found["nll"].sum) == pytest.approx(float(loss["nll"].sum), rel=1e-5)
        shadow.add_gradient(objective(found, batch.counts))
    assert_close(gradients(model), [2 * gradient for gradient in wanted], atol=1e-5, rtol=1e-4)
    assert {name: id(p) for name, p in model.named_parameters(remove_duplicate=False)} == before


def test_it_follows_the_weights_when_it_is_told() -> None:
    model, batch = small_transformer(dropout=0.0), pairs()
    shadow = shadowed(model, torch.float64)
    before = float(shadow.loss(batch, 1)["nll"].sum)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    assert float(shadow.loss(batch, 1)["nll"].sum) == pytest.approx(before)
    shadow.refresh()
    assert float(shadow.loss(batch, 1)["nll"].sum) == pytest.approx(
        float(model.loss(batch, 1)["nll"].sum), rel=1e-5
    )


def test_a_model_is_what_it_was_when_its_loss_fails() -> None:
    model = small_transformer()
    shadow = shadowed(model, torch.bfloat16)
    with pytest.raises(AttributeError):
        shadow.loss(object(), 1)  # type: ignore[arg-type]
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_batch_norms_keep_their_format() -> None:
    settings = Settings.model_validate(
        {"picture_size": 8, "patch_size": 4, "channels": 1, "classes": 3, "d_model": 16, "num_heads": 2}
        | {"d_ff": 16, "num_layers": 1, "stem": "convolutional", "stem_width": 4}
    )
    torch.manual_seed(2)
    model = VisionTransformer(settings)
    shadow = shadowed(model, torch.bfloat16)
    labels, shares = torch.tensor([[0, 0], [2, 2]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    batch = PictureBatch(torch.rand(2, 1, 8, 8), labels, shares)
    with torch.autocast("cpu", torch.bfloat16):
        loss = shadow.loss(batch, 1)
    shadow.add_gradient(objective(loss, batch.counts))
    assert all(gradient.isfinite().all() for gradient in gradients(model))
    assert sum(gradient.norm() for gradient in gradients(model)) > 0
