"""Grouped-query attention against multi-head attention with repeated matrices, and PyTorch's."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from multihead.models.transformer import Settings
from multihead.nn import MultiHeadAttention

B, Q, K, D_MODEL, H, G, D_K, D_V = 2, 5, 7, 11, 6, 2, 3, 13


def grouped() -> MultiHeadAttention:
    return MultiHeadAttention(D_MODEL, H, num_kv_heads=G, d_k=D_K, d_v=D_V)


def test_each_group_of_query_heads_shares_a_key_head() -> None:
    attention, whole = grouped(), MultiHeadAttention(D_MODEL, H, d_k=D_K, d_v=D_V)
    own = dict(attention.named_parameters())
    with torch.no_grad():
        for name, parameter in whole.named_parameters():
            given = own[name].detach()
            if name.startswith(("w_k", "w_v")):
                by_head = given.view(G, -1, *given.shape[1:])
                given = torch.cat([by_head[g // (H // G)] for g in range(H)])
            parameter.copy_(given)
    x, memory = torch.randn(B, Q, D_MODEL), torch.randn(B, K, D_MODEL)
    assert_close(attention(x, memory), whole(x, memory))
    assert_close(attention(x, x), whole(x, x))


def test_it_is_pytorchs_grouped_query_attention() -> None:
    attention = grouped()
    x, memory = torch.randn(B, Q, D_MODEL), torch.randn(B, K, D_MODEL)
    q, (k, v) = attention.queries(x), attention.keys_values(memory)
    assert k.shape == (B, G, K, D_K)
    assert v.shape == (B, G, K, D_V)
    theirs = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert_close(attention(x, memory), attention.w_o(theirs.transpose(1, 2).flatten(2)))


def test_one_key_head_is_multi_query_attention_and_all_are_multi_head() -> None:
    def size(heads: int | None) -> int:
        attention = MultiHeadAttention(12, 4, num_kv_heads=heads)
        return sum(parameter.numel() for parameter in attention.parameters())

    assert size(None) == size(4) == 4 * (12 * 12 + 12)
    assert size(1) == 2 * (12 * 12 + 12) + 2 * (12 * 3 + 3)


def test_heads_that_do_not_divide_into_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="num_heads 6 is not a multiple of num_kv_heads 4"):
        MultiHeadAttention(12, 6, num_kv_heads=4)
    with pytest.raises(ValueError, match="num_heads 8 is not a multiple of num_kv_heads 3"):
        Settings(num_kv_heads=3)
