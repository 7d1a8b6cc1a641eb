"""Attention with positions added to queries and keys, and two-dimensional sinusoids."""

import torch

from multihead.nn import MultiHeadAttention
from multihead.nn.parts.positioned_attention import PositionedAttention, grid_places, sinusoids_2d

B, N, Q, d, H = 2, 7, 3, 24, 3


def test_without_positions_it_is_multi_head_attention() -> None:
    ours, plain = PositionedAttention(d, H), MultiHeadAttention(d, H)
    plain.load_state_dict(ours.state_dict())
    x, memory, none = torch.randn(B, Q, d), torch.randn(B, N, d), torch.zeros(1)
    torch.testing.assert_close(ours(x, memory, none, none), plain(x, memory))
    torch.testing.assert_close(ours(x, x, none, none), plain(x, x))


def test_positions_reach_queries_and_keys_but_not_values() -> None:
    attention = PositionedAttention(d, H)
    x, memory = torch.randn(B, Q, d), torch.randn(B, N, d)
    q_pos, k_pos = torch.randn(B, Q, d), torch.randn(N, d)
    q, k, v = attention.w_q(x + q_pos), attention.w_k(memory + k_pos), attention.w_v(memory)
    heads = [part.view(B, -1, H, d // H).transpose(1, 2) for part in (q, k, v)]
    weights = (heads[0] @ heads[1].mT / (d // H) ** 0.5).softmax(-1)
    expected = attention.w_o((weights @ heads[2]).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, memory, q_pos, k_pos), expected)


def test_self_attention_takes_the_fast_path_to_the_same_result() -> None:
    attention = PositionedAttention(d, H)
    x, places = torch.randn(B, N, d), torch.randn(N, d)
    torch.testing.assert_close(attention(x, x, places, places), attention(x, x.clone(), places, places))


def test_sinusoids_have_a_half_for_each_axis() -> None:
    places = torch.tensor([[0.2, 0.3], [0.7, 0.3], [0.2, 0.9]])
    table = sinusoids_2d(places, 16)
    assert table.shape == (3, 16)
    torch.testing.assert_close(table[0, :8], table[1, :8])  # the same y
    torch.testing.assert_close(table[0, 8:], table[2, 8:])  # the same x
    assert not table[0, 8:].allclose(table[1, 8:])


def test_sinusoids_are_most_alike_where_places_are_near() -> None:
    places = grid_places(5, 7)
    torch.testing.assert_close(places[1], torch.tensor([1.5 / 7, 0.5 / 5]))  # row by row, x before y
    table = sinusoids_2d(places, 64)
    likeness = table @ table.T
    assert (likeness.argmax(dim=1) == torch.arange(35)).all()
    assert likeness[0, 1] > likeness[0, 3]
