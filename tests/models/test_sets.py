"""Models of sets: permutation equivariance, and a layer by the book."""

from typing import Any

import pytest
import torch

from multihead.batch import SetBatch
from multihead.models import deep_sets, set_encoder

B, N = 2, 7
SIZES: dict[str, Any] = {"image_size": 13, "stem_width": 4, "d_model": 12, "d_ff": 17, "num_heads": 3}


@pytest.fixture(params=[set_encoder, deep_sets], ids=["attention", "mean"])
def model(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(7)
    return request.param.Model(request.param.Settings.model_validate(SIZES)).eval()


def test_reordering_the_set_reorders_the_outputs(model: Any) -> None:
    pixels = torch.rand(B, N, 1, 13, 13)
    logits = model(pixels)
    assert logits.shape == (B, N)
    assert logits.std(dim=1).min() > 1e-4
    order = torch.randperm(N)
    torch.testing.assert_close(model(pixels[:, order]), logits[:, order], rtol=1e-4, atol=1e-5)


def test_every_image_depends_on_the_others_of_its_set_alone(model: Any) -> None:
    pixels = torch.rand(B, N, 1, 13, 13)
    logits = model(pixels)
    changed = pixels.clone()
    changed[0, 3] = torch.rand(1, 13, 13)
    after = model(changed)
    assert (after[0] != logits[0]).all()
    torch.testing.assert_close(after[1], logits[1])


def test_sets_of_other_sizes_are_possible(model: Any) -> None:
    assert model(torch.rand(1, 3, 1, 13, 13)).shape == (1, 3)


def test_the_loss_counts_sets(model: Any) -> None:
    batch = SetBatch(torch.rand(B, N, 1, 13, 13), torch.tensor([2, 5]))
    loss = model.loss(batch, 0)["loss"]
    expected = -model(batch.pixels_BNChw).log_softmax(-1)[[0, 1], [2, 5]].sum()
    torch.testing.assert_close(loss.sum, expected)
    assert batch.counts["sets"] == B
    assert batch.tokens == B * N


def test_a_layer_of_means_is_that_of_equation_4() -> None:
    model: Any = deep_sets.Model(deep_sets.Settings.model_validate(SIZES))
    mean = model.mix[0]
    x = torch.randn(B, N, 12)
    weight, bias = mean.mixed.weight, mean.mixed.bias
    own, other = weight[:, :12], weight[:, 12:]
    expected = x @ own.T + x.mean(dim=1, keepdim=True) @ other.T + bias
    torch.testing.assert_close(mean.compare(x), expected)
