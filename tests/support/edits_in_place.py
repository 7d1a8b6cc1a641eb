"""Edits of a class in place, as in a quick experiment: the class keeps its description."""

import pytest
import torch
from torch import Tensor

from multihead.nn import DotProductAttention, FeedForward, PostNorm
from multihead.nn.attention import attention_weights


def alibi_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def weights(self: DotProductAttention, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        back_QK = torch.arange(k.shape[2]) - torch.arange(k.shape[2] - q.shape[2], k.shape[2])[:, None]
        scores = q @ k.mT / q.shape[-1] ** 0.5 + 0.5 * back_QK
        found: Tensor = (scores if allowed is None else scores.masked_fill(~allowed, -1e9)).softmax(-1)
        return found

    monkeypatch.setattr(DotProductAttention, "weights", weights)
    monkeypatch.setattr(
        DotProductAttention, "forward", lambda self, q, k, v, allowed=None: weights(self, q, k, allowed) @ v
    )


def half_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(
        self: DotProductAttention, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None
    ) -> Tensor:
        return attention_weights(q / 2, k, allowed) @ v

    monkeypatch.setattr(DotProductAttention, "forward", forward)


def a_third_product(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = FeedForward.forward
    monkeypatch.setattr(FeedForward, "forward", lambda self, x: plain(self, x) + 0.2 * x)


def norm_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = PostNorm.forward
    monkeypatch.setattr(PostNorm, "forward", lambda self, x, sublayer: plain(self, self.norm(x), sublayer))


def a_window_of_sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(
        self: DotProductAttention, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None
    ) -> Tensor:
        back_QK = torch.arange(k.shape[2] - q.shape[2], k.shape[2])[:, None] - torch.arange(k.shape[2])
        near = back_QK < 16
        return attention_weights(q, k, near if allowed is None else near & allowed) @ v

    monkeypatch.setattr(DotProductAttention, "forward", forward)


EDITS = [alibi_in_place, half_the_scale, a_third_product, norm_before_and_after, a_window_of_sixteen]
