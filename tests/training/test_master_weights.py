"""Master weights: the same loss, the same gradient, the model untouched."""

import pytest
import torch
from backwards import BOS, EOS, PAD, small_transformer, strings
from torch import nn
from torch.testing import assert_close

from multihead.batch import ImageBatch, PairBatch
from multihead.data.batches import collate
from multihead.models.vit import Settings, VisionTransformer
from multihead.nn.losses import objective
from multihead.training.master_weights import MasterWeights


def pairs() -> PairBatch:
    sources = strings(13, 7, seed=3)
    return collate(sources, [s[::-1] for s in sources], pad_id=PAD, bos_id=BOS, eos_id=EOS)


def master_weights(model: nn.Module, dtype: torch.dtype) -> MasterWeights:
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    return MasterWeights(model, dtype)


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("tied", ["all", "decoder", "none"])
def test_gradients_accumulate_in_the_master_weights(tied: str) -> None:
    model = small_transformer(dropout=0.0, tied=tied)
    before = {name: id(p) for name, p in model.named_parameters(remove_duplicate=False)}
    batch = pairs()
    loss = model.loss(batch, 1)
    objective(loss, batch.counts).backward()  # type: ignore[no-untyped-call]
    wanted = gradients(model)
    master = master_weights(model, torch.float64)  # float64, so that no rounding error is added
    for _ in range(2):
        found = master.loss(batch, 1)
        assert float(found["nll"].sum) == pytest.approx(float(loss["nll"].sum), rel=1e-5)
        master.add_gradient(objective(found, batch.counts))
    assert_close(gradients(model), [2 * gradient for gradient in wanted], atol=1e-5, rtol=1e-4)
    assert {name: id(p) for name, p in model.named_parameters(remove_duplicate=False)} == before


def test_copies_change_at_a_refresh_only() -> None:
    model, batch = small_transformer(dropout=0.0), pairs()
    master = master_weights(model, torch.float64)
    before = float(master.loss(batch, 1)["nll"].sum)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    assert float(master.loss(batch, 1)["nll"].sum) == pytest.approx(before)
    master.refresh()
    assert float(master.loss(batch, 1)["nll"].sum) == pytest.approx(
        float(model.loss(batch, 1)["nll"].sum), rel=1e-5
    )


def test_the_model_is_restored_when_its_loss_fails() -> None:
    model = small_transformer()
    master = master_weights(model, torch.bfloat16)
    with pytest.raises(AttributeError):
        master.loss(object(), 1)  # type: ignore[arg-type]
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_batch_norm_weights_keep_their_dtype() -> None:
    settings = Settings.model_validate(
        {"image_size": 8, "patch_size": 4, "channels": 1, "classes": 3, "d_model": 16, "num_heads": 2}
        | {"d_ff": 16, "num_layers": 1, "stem": "convolutional", "stem_width": 4}
    )
    torch.manual_seed(2)
    model = VisionTransformer(settings)
    master = master_weights(model, torch.bfloat16)
    labels, shares = torch.tensor([[0, 0], [2, 2]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    batch = ImageBatch(torch.rand(2, 1, 8, 8), labels, shares)
    with torch.autocast("cpu", torch.bfloat16):
        loss = master.loss(batch, 1)
    master.add_gradient(objective(loss, batch.counts))
    assert all(gradient.isfinite().all() for gradient in gradients(model))
    assert sum(gradient.norm() for gradient in gradients(model)) > 0
