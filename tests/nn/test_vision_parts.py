"""Parts of vision transformers against their equations."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from multihead.nn import MultiHeadAttention
from multihead.nn.parts.convolutional_tokenizer import ConvolutionalTokenizer
from multihead.nn.parts.image_layers import apply_channels_last
from multihead.nn.parts.patch_positions import NoPatchPositions, SinusoidalPatchPositions, sinusoids_2d
from multihead.nn.parts.pooling import ClassPooling, MeanPooling, SequencePooling
from multihead.nn.parts.registers import PatchDropout, Registers
from multihead.nn.parts.small_data import LocalityAttention, ShiftedPatches, shift

B, C, H, N, D, D_K = 3, 2, 5, 7, 12, 11


# --- convolutional tokenizer and sequence pooling (Hassani et al. 2021) ------------------------------------


def test_a_tokenizer_is_convolution_relu_and_pooling() -> None:
    tokenizer = ConvolutionalTokenizer(C, D, layers=1)
    pixels = torch.randn(B, C, 7, 9)
    (convolution,) = (part for part in tokenizer.modules() if isinstance(part, nn.Conv2d))
    padded = nn.functional.pad(pixels, (1, 1, 1, 1))
    columns = padded.unfold(2, 3, 1).unfold(3, 3, 1)  # (B, C, 7, 9, 3, 3)
    features = torch.einsum("bcrsij,dcij->bdrs", columns, convolution.weight).relu()
    windows = nn.functional.pad(features, (1, 1, 1, 1)).unfold(2, 3, 2).unfold(3, 3, 2)
    expected = windows.amax(dim=(-2, -1)).flatten(2).mT
    assert_close(tokenizer(pixels), expected)
    assert expected.shape[1] == math.prod(tokenizer.grid(7, 9))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_grid_is_that_of_the_tokens_for_odd_and_even_images(layers: int) -> None:
    tokenizer = ConvolutionalTokenizer(C, D, layers=layers, width=3, kernel=5, batch_norm=True)
    for size in ((28, 28), (13, 17)):
        assert tokenizer(torch.randn(B, C, *size)).shape == (B, math.prod(tokenizer.grid(*size)), D)


def test_a_tokenizer_may_convolve_twice_before_each_pooling() -> None:
    tokenizer = ConvolutionalTokenizer(C, D, layers=2, convolutions=2, width=3)
    kinds = [type(part).__name__ for part in tokenizer.convolutions]
    assert kinds == ["Conv2d", "ReLU", "Conv2d", "ReLU", "MaxPool2d"] * 2
    widths = [p.shape[:2] for p in tokenizer.parameters()]
    assert widths == [(3, C), (3, 3), (3, 3), (D, 3)]
    assert tokenizer(torch.randn(B, C, 13, 17)).shape == (B, math.prod(tokenizer.grid(13, 17)), D)


def test_an_even_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match="must be odd, not 4"):
        ConvolutionalTokenizer(C, D, kernel=4)


def test_sequence_pooling_is_its_equation() -> None:
    pool, x = SequencePooling(D), torch.randn(B, N, D)
    for b in range(B):
        scores = torch.stack([pool.g.weight[0] @ x[b, n] + pool.g.bias[0] for n in range(N)])
        shares = scores.exp() / scores.exp().sum()
        assert_close(pool(x)[b], (shares[:, None] * x[b]).sum(dim=0))


@pytest.mark.parametrize("pool", [ClassPooling(), MeanPooling(), MeanPooling(skip=3), SequencePooling(D)])
def test_a_pools_shares_are_those_it_sums_by(pool: nn.Module) -> None:
    x = torch.randn(B, N, D)
    shares = pool.shares(x)  # type: ignore[operator]
    assert_close(shares.sum(dim=1), torch.ones(B))
    assert_close((shares[:, None] @ x)[:, 0], pool(x))


# --- shifted patches and locality attention (Lee et al. 2021) ----------------------------------------------


def test_the_shifts_are_diagonal_and_filled_with_nothing() -> None:
    pixels = torch.rand(1, 1, 5, 7) + 1
    own, *moved = shift(pixels, 2)[0].unbind(0)
    assert torch.equal(own, pixels[0, 0])
    found = set()
    for one in moved:
        rows, columns = one.nonzero(as_tuple=True)
        top, left = int(rows.min()), int(columns.min())
        assert torch.equal(one[one != 0], own[2 - top : 5 - top, 2 - left : 7 - left].flatten())
        found.add((top, left))
    assert found == {(0, 0), (0, 2), (2, 0), (2, 2)}


def test_shifted_patches_see_their_neighbours() -> None:
    patches = ShiftedPatches(4, C, D)
    pixels = torch.rand(1, C, 12, 12, requires_grad=True)
    middle = patches(pixels)[0, 4]
    assert patches(pixels).shape == (1, 9, D)
    middle.square().sum().backward()
    assert pixels.grad is not None
    read = pixels.grad[0].abs().sum(dim=0) > 0
    assert read[2:10, 2:10].all()
    assert int(read.sum()) == 64


def test_locality_attention_is_its_equation() -> None:
    part = LocalityAttention(D_K)
    assert math.isclose(part.tau.item(), math.sqrt(D_K), rel_tol=1e-6)
    nn.init.constant_(part.tau, 0.7)
    q, k, v = (torch.randn(B, H, N, D_K) for _ in range(3))
    out = part(q, k, v)
    for n in range(N):
        others = [m for m in range(N) if m != n]
        scores = torch.einsum("bhd,bhmd->bhm", q[:, :, n], k[:, :, others]) / 0.7
        assert_close(out[:, :, n], torch.einsum("bhm,bhmd->bhd", scores.softmax(-1), v[:, :, others]))


def test_locality_attention_learns_its_temperature_inside_multi_head_attention() -> None:
    attend = MultiHeadAttention(D, 3, score=LocalityAttention(D // 3))
    x = torch.randn(B, N, D)
    attend(x, x).square().sum().backward()
    assert isinstance(attend.score, LocalityAttention)
    assert attend.score.tau.grad is not None
    assert attend.score.tau.grad.abs() > 0


# --- SimpleViT's positions (Beyer et al. 2022) -------------------------------------------------------------


def test_fixed_positions_are_sines_and_cosines_of_column_and_row() -> None:
    rows, columns, quarter = 3, 5, D // 4
    table = sinusoids_2d(rows, columns, D).view(rows, columns, 4, quarter)
    for y in range(rows):
        for x in range(columns):
            for number in range(quarter):
                omega = 10_000 ** (-number / (quarter - 1))
                expected = [
                    math.sin(x * omega),
                    math.cos(x * omega),
                    math.sin(y * omega),
                    math.cos(y * omega),
                ]
                assert_close(table[y, x, :, number], torch.tensor(expected))


def test_fixed_positions_follow_the_images_size_and_are_not_saved() -> None:
    part = SinusoidalPatchPositions(3, 5, D)
    zeros = torch.zeros(B, 2 * 7, D)
    assert_close(part(zeros, 2, 7)[1], sinusoids_2d(2, 7, D))
    assert not part.state_dict()
    x = torch.randn(B, 15, D)
    assert NoPatchPositions()(x, 3, 5) is x


@pytest.mark.parametrize("width", [4, 10])
def test_a_width_that_has_no_quarters_is_refused(width: int) -> None:
    with pytest.raises(ValueError, match=f"not {width}"):
        sinusoids_2d(2, 3, width)


# --- registers and patch dropout ---------------------------------------------------------------------------


def test_registers_precede_the_patches() -> None:
    part, x = Registers(5, D), torch.randn(B, N, D)
    out = part(x)
    assert torch.equal(out[:, 5:], x)
    assert torch.equal(out[1, :5], part.weight_Rd)


def test_patch_dropout_keeps_patches_of_each_image_in_their_order() -> None:
    x = torch.arange(40.0).view(1, 40, 1).expand(11, 40, 3)
    part = PatchDropout(0.25).train()
    kept = part(x)
    assert kept.shape == (11, 30, 3)
    assert (kept[:, 1:] > kept[:, :-1]).all()
    assert len({tuple(row) for row in kept[:, :, 0].tolist()}) > 1
    assert part.eval()(x) is x
    assert PatchDropout(0.99).train()(x).shape[1] == 1


@pytest.mark.parametrize("channels", [1, 3])
def test_the_order_of_memory_is_kept_and_changes_nothing(channels: int) -> None:
    """An image of one channel does not impose its order on the layers after the first."""
    layers = nn.Sequential(nn.Conv2d(channels, 5, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    orders = []
    layers[1].register_forward_hook(
        lambda module, given, out: orders.append(out.is_contiguous(memory_format=torch.channels_last))
    )
    pixels = torch.rand(2, channels, 13, 11)
    found = apply_channels_last(layers, pixels)
    assert orders == [True]
    torch.testing.assert_close(found, layers(pixels))
