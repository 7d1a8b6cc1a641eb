"""Sparse layouts against their dense masks, and the masks against the figure that describes them."""

import pytest
import torch
from torch.testing import assert_close

from multihead.nn.attention import attention
from multihead.nn.parts import gathered_attention
from multihead.nn.parts.sparse_layouts import Kind, SparseAttention, SparseLayout

B, H, TEXT, ROWS, COLUMNS, D = 2, 3, 5, 7, 11, 13
KINDS = pytest.mark.parametrize("kind", ["full", "row", "column", "convolution"])


def layout(kind: Kind) -> SparseLayout:
    return SparseLayout(kind, TEXT, ROWS, COLUMNS, kernel=5)


def qkv(length: int) -> list[torch.Tensor]:
    return [torch.randn(B, H, length, D, requires_grad=True) for _ in range(3)]


@KINDS
def test_gathering_equals_the_dense_mask(kind: Kind) -> None:
    found = layout(kind)
    q, k, v = qkv(found.length - 1)  # in training the last code is not read
    dense = attention(q, k, v, found.mask()[:-1, :-1])
    sparse = gathered_attention.attend(q, k, v, TEXT, found.places())
    assert_close(sparse, dense)
    weight = torch.randn_like(dense)
    wanted = torch.autograd.grad((dense * weight).sum(), (q, k, v))
    for gradient, expected in zip(
        torch.autograd.grad((sparse * weight).sum(), (q, k, v)), wanted, strict=True
    ):
        assert_close(gradient, expected, atol=1e-4, rtol=1e-4)


@KINDS
def test_attention_is_causal_and_images_attend_to_all_text(kind: Kind) -> None:
    mask = layout(kind).mask()
    assert not mask.triu(1).any()
    assert mask.diagonal().all()
    assert mask[TEXT:, :TEXT].all()


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        # The tokens of a 4 x 4 grid that row 2, column 1 attends to (Ramesh et al. 2021, fig. 11).
        ("row", [5, 6, 7, 8, 9]),
        ("column", [1, 5, 9]),
        ("convolution", [4, 5, 6, 8, 9]),
        ("full", list(range(10))),
    ],
)
def test_layouts_are_those_of_the_figure(kind: Kind, seen: list[int]) -> None:
    mask = SparseLayout(kind, 6, 4, 4, kernel=3).mask()
    assert (mask[6 + 9, 6:].nonzero()[:, 0]).tolist() == seen


def test_the_convolution_wraps_around_at_the_edges() -> None:
    """A token at the left edge also attends to the end of the row above, as in figure 11 (d)."""
    mask = SparseLayout("convolution", 6, 4, 4, kernel=3).mask()
    assert (mask[6 + 8, 6:].nonzero()[:, 0]).tolist() == [3, 4, 5, 7, 8]


@KINDS
def test_the_last_query_alone_gives_the_last_row(kind: Kind) -> None:
    attend = SparseAttention(layout(kind))
    q, k, v = qkv(TEXT + 3 * COLUMNS + 2)
    assert_close(attend(q[:, :, -1:], k, v), attend(q, k, v)[:, :, -1:])


def test_a_large_grid_uses_gathering_with_the_same_result() -> None:
    large = SparseLayout("column", TEXT, 5, 53)
    attend = SparseAttention(large)
    assert 24 * attend.attended.shape[1] <= 5 * 53
    q, k, v = qkv(large.length)
    assert_close(attend(q, k, v), attention(q, k, v, large.mask()))
