"""Ablated residual connections against their equations."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from multihead.nn.parts.ablations import NoNorm, NoResidual, PostBatchNorm

B, N, D = 5, 7, 11


def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def test_without_norm_it_is_a_sum() -> None:
    x = torch.randn(B, N, D)
    assert_close(NoNorm(D, 0.0)(x, twice), 3 * x)


def test_without_residual_only_the_sublayers_output_is_normalised() -> None:
    x = torch.randn(B, N, D)
    assert_close(NoResidual(D, 0.0)(x, twice), nn.functional.layer_norm(2 * x, (D,)))
    assert not NoResidual(D, 0.0)(x, lambda y: 0 * y).any()


def test_batch_norm_normalises_each_unit_over_the_batch() -> None:
    block, x = PostBatchNorm(D, 0.0), torch.randn(B, N, D) * 3 + 5
    out = block(x, twice)
    assert_close(out.mean((0, 1)), torch.zeros(D), atol=1e-5, rtol=0)
    assert_close(out.var((0, 1), correction=0), torch.ones(D), atol=1e-3, rtol=0)
    block.eval()
    first, alone = block(x, twice)[:1], block(x[:1], twice)
    assert_close(first, alone)


@pytest.mark.parametrize("kind", [NoNorm, NoResidual, PostBatchNorm])
def test_dropout_applies_to_the_sublayers_output(kind: type[nn.Module]) -> None:
    block, x = kind(D, 0.5), torch.randn(B, N, D)
    assert not torch.equal(block(x, twice), block(x, twice))
    block.eval()
    assert torch.equal(block(x, twice), block(x, twice))
