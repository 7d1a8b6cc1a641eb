"""Stochastic depth: sublayers skipped at random."""

import torch
from torch import Tensor
from torch.testing import assert_close

from multihead.nn import FeedForward, MultiHeadAttention, PreNorm, TransformerEncoder
from multihead.nn.parts.stochastic_depth import StochasticPreNorm, set_drop_probabilities

B, N, D = 4001, 2, 3


def double(x: Tensor) -> Tensor:
    return 2 * torch.ones_like(x)


def test_no_sublayer_is_skipped_in_evaluation() -> None:
    residual, plain = StochasticPreNorm(D, 0.0).eval(), PreNorm(D, 0.0)
    residual.drop_probability = 0.7
    x = torch.randn(5, N, D)
    assert torch.equal(residual(x, double), plain(x, double))


def test_training_skips_whole_rows_and_keeps_the_mean() -> None:
    residual = StochasticPreNorm(D, 0.0).train()
    residual.drop_probability = 0.25
    out = residual(torch.zeros(B, N, D), double)
    values = out.flatten(1)
    assert torch.equal(values, values[:, :1].expand_as(values))
    left_out = (values[:, 0] == 0).float().mean().item()
    assert abs(left_out - 0.25) < 0.03
    assert_close(out.mean(), torch.tensor(2.0), atol=0.1, rtol=0)


def test_the_drop_probability_rises_linearly_from_the_first_layer_to_the_last() -> None:
    encoder = TransformerEncoder(
        3,
        D,
        attention=lambda: MultiHeadAttention(D, 1),
        feed_forward=lambda: FeedForward(D, 7),
        residual=StochasticPreNorm,
    )
    set_drop_probabilities(encoder, 0.2)
    chances = [part.drop_probability for part in encoder.modules() if isinstance(part, StochasticPreNorm)]
    assert chances == [0.0, 0.0, 0.1, 0.1, 0.2, 0.2]
