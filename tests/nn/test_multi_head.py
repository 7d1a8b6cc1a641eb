"""Multi-head attention against PyTorch's with the same weights, and against plain loops."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn import MultiHeadAttention, masks

B, H, Q, K = 2, 3, 5, 7


def theirs_and_ours(d_model: int) -> tuple[nn.MultiheadAttention, MultiHeadAttention]:
    theirs = nn.MultiheadAttention(d_model, H, batch_first=True, dtype=torch.float64)
    ours = MultiHeadAttention(d_model, H).double()
    with torch.no_grad():
        theirs.in_proj_bias.normal_()  # PyTorch starts with zeros, which would hide a wrong bias.
        theirs.out_proj.bias.normal_()
        for number, linear in enumerate((ours.w_q, ours.w_k, ours.w_v)):
            linear.weight.copy_(theirs.in_proj_weight.chunk(3)[number])
            linear.bias.copy_(theirs.in_proj_bias.chunk(3)[number])
        ours.w_o.load_state_dict(theirs.out_proj.state_dict())
    return theirs, ours


def test_it_is_pytorchs_with_the_same_weights() -> None:
    d_model = H * 11
    theirs, ours = theirs_and_ours(d_model)
    x = torch.randn(B, Q, d_model, dtype=torch.float64)
    memory = torch.randn(B, K, d_model, dtype=torch.float64)
    allowed = masks.padding(torch.tensor([4, 7]), K)
    # PyTorch's mask has the other polarity.
    expected, weights = theirs(
        x, memory, memory, key_padding_mask=~allowed[:, 0, 0], average_attn_weights=False
    )
    assert_close(ours(x, memory, allowed), expected)
    keys, _ = ours.keys_values(memory)
    assert_close(ours.score.weights(ours.queries(x), keys, allowed), weights)  # type: ignore[operator]


def test_causal_self_attention_is_pytorchs() -> None:
    d_model = H * 11
    theirs, ours = theirs_and_ours(d_model)
    x = torch.randn(B, Q, d_model, dtype=torch.float64)
    allowed = masks.causal(Q)
    expected, _ = theirs(x, x, x, attn_mask=~allowed[0, 0])
    assert_close(ours(x, x, allowed), expected)


def by_loops(ours: MultiHeadAttention, x: Tensor, memory: Tensor, d_k: int, d_v: int) -> Tensor:
    """Concat(head_1, ..., head_h) W^O, head by head, query by query."""
    out = torch.zeros_like(x)
    for b in range(B):
        for i in range(Q):
            heads = []
            for h in range(H):
                rows_k, rows_v = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
                q = ours.w_q.weight[rows_k] @ x[b, i] + ours.w_q.bias[rows_k]
                k = [ours.w_k.weight[rows_k] @ memory[b, j] + ours.w_k.bias[rows_k] for j in range(K)]
                v = [ours.w_v.weight[rows_v] @ memory[b, j] + ours.w_v.bias[rows_v] for j in range(K)]
                powers = [math.exp(float(q @ key) / math.sqrt(d_k)) for key in k]
                heads.append(sum(p / sum(powers) * value for p, value in zip(powers, v, strict=True)))
            out[b, i] = ours.w_o.weight @ torch.cat([torch.as_tensor(head) for head in heads]) + ours.w_o.bias
    return out


@pytest.mark.parametrize(("d_k", "d_v"), [(11, 13), (13, 11)])
def test_widths_of_keys_and_values_are_free(d_k: int, d_v: int) -> None:
    d_model = 17
    ours = MultiHeadAttention(d_model, H, d_k=d_k, d_v=d_v).double().requires_grad_(False)
    x = torch.randn(B, Q, d_model, dtype=torch.float64)
    memory = torch.randn(B, K, d_model, dtype=torch.float64)
    assert_close(ours(x, memory), by_loops(ours, x, memory, d_k, d_v))


def test_widths_default_to_d_model_over_heads() -> None:
    ours = MultiHeadAttention(3 * 7, 3)
    assert [linear.out_features for linear in (ours.w_q, ours.w_k, ours.w_v)] == [21, 21, 21]
    ours = MultiHeadAttention(3 * 7, 3, d_k=5)
    assert [linear.out_features for linear in (ours.w_q, ours.w_k, ours.w_v)] == [15, 15, 15]


def test_heads_that_do_not_divide_d_model_are_refused() -> None:
    with pytest.raises(ValueError, match="17 is not a multiple of num_heads 3"):
        MultiHeadAttention(17, 3)


def test_the_score_can_be_replaced() -> None:
    class FirstKeyOnly(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
            return v[:, :, :1].expand(-1, -1, q.shape[2], -1)

    ours = MultiHeadAttention(H * 11, H, score=FirstKeyOnly())
    x, memory = torch.randn(B, Q, H * 11), torch.randn(B, K, H * 11)
    assert_close(ours(x, memory), ours.w_o(ours.w_v(memory[:, :1])).expand(-1, Q, -1))
