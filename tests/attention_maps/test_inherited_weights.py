"""A score that changes ``forward`` alone would be shown with the weights of its parent; this is reported."""

import logging

import pytest
import torch
from small_transformer import BEGIN, VOCABULARY, attentions, model
from torch import Tensor

from multihead.inspect.maps import record
from multihead.nn import DotProductAttention
from multihead.nn.score_functions import DotScore, ScoreFunction
from multihead.search.consistency import example


class Sharpened(DotProductAttention):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        return super().forward(3 * q, k, v, allowed)


class Shown(Sharpened):
    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        return super().weights(3 * q, k, allowed)


class Same(DotProductAttention):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        return super().forward(q, k, v, allowed)


class Squared(ScoreFunction):
    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        return (q_BHQd @ k_BHKd.mT) ** 2


@pytest.mark.parametrize(
    ("kind", "warned"),
    [
        (Sharpened, ["Sharpened"]),
        (Shown, []),
        (Same, []),
        (Squared, []),
        (DotScore, []),
        (DotProductAttention, []),
    ],
)
def test_weights_that_forward_did_not_use_are_reported_once(
    kind: type[torch.nn.Module], warned: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    made = model()
    for attention in attentions(made):
        attention.score = kind()
    with caplog.at_level(logging.WARNING):
        assert len(record(made, example(VOCABULARY, VOCABULARY, BEGIN, None))) == 6
    assert [message.split()[0] for message in caplog.messages] == warned
