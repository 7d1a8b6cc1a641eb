"""Feed-forward networks, residual connections, layers and stacks against PyTorch's with the same weights."""

from typing import TypeVar

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    PostNorm,
    PreNorm,
    TransformerDecoder,
    TransformerEncoder,
    masks,
)
from multihead.nn.modules import Dropout

B, S, T, H, D, D_FF, L = 2, 5, 7, 3, 21, 13, 2

Residual = type[PostNorm] | type[PreNorm]
M = TypeVar("M", bound=nn.Module)
RESIDUALS = pytest.mark.parametrize("residual", [PostNorm, PreNorm])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])


def shaken(module: M) -> M:
    """The module in double precision, with norms and biases moved from their neutral initial values."""
    for parameter in module.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)
    return module.double()


def stacks(residual: Residual, activation: str = "relu") -> tuple[TransformerEncoder, TransformerDecoder]:
    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(D, H)

    def feed_forward() -> FeedForward:
        return FeedForward(D, D_FF, activation=activation)

    encoder = TransformerEncoder(L, D, attention=attention, feed_forward=feed_forward, residual=residual)
    decoder = TransformerDecoder(L, D, attention=attention, feed_forward=feed_forward, residual=residual)
    return shaken(encoder), shaken(decoder)


# --- the same in PyTorch ------------------------------------------------------------------------


def copy(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.w_q, ours.w_k, ours.w_v)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    copy(ours.w_o, theirs.out_proj)


def copy_feed_forward(ours: nn.Module, theirs: nn.Module) -> None:
    copy(ours.get_submodule("w_1"), theirs.get_submodule("linear1"))
    copy(ours.get_submodule("w_2"), theirs.get_submodule("linear2"))


def pytorch_encoder(ours: TransformerEncoder, residual: Residual, activation: str) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        D, H, D_FF, 0.0, activation, norm_first=residual is PreNorm, batch_first=True
    )
    norm = nn.LayerNorm(D) if residual is PreNorm else None
    theirs = nn.TransformerEncoder(layer, L, norm, enable_nested_tensor=False).double()
    for one, other in zip(ours.layers, theirs.layers, strict=True):
        assert isinstance(one, EncoderLayer)
        assert isinstance(other, nn.TransformerEncoderLayer)
        copy_attention(one.self_attention, other.self_attn)
        copy_feed_forward(one.feed_forward, other)
        copy(one.around_attention.get_submodule("norm"), other.norm1)
        copy(one.around_feed_forward.get_submodule("norm"), other.norm2)
    if norm:
        copy(ours.norm, norm)
    return theirs


def pytorch_decoder(ours: TransformerDecoder, residual: Residual, activation: str) -> nn.TransformerDecoder:
    layer = nn.TransformerDecoderLayer(
        D, H, D_FF, 0.0, activation, norm_first=residual is PreNorm, batch_first=True
    )
    norm = nn.LayerNorm(D) if residual is PreNorm else None
    theirs = nn.TransformerDecoder(layer, L, norm).double()
    for one, other in zip(ours.layers, theirs.layers, strict=True):
        assert isinstance(one, DecoderLayer)
        assert isinstance(other, nn.TransformerDecoderLayer)
        copy_attention(one.self_attention, other.self_attn)
        copy_attention(one.cross_attention, other.multihead_attn)
        copy_feed_forward(one.feed_forward, other)
        copy(one.around_self.get_submodule("norm"), other.norm1)
        copy(one.around_cross.get_submodule("norm"), other.norm2)
        copy(one.around_feed_forward.get_submodule("norm"), other.norm3)
    if norm:
        copy(ours.norm, norm)
    return theirs


@RESIDUALS
@ACTIVATIONS
def test_the_encoder_is_pytorchs_with_the_same_weights(residual: Residual, activation: str) -> None:
    ours, _ = stacks(residual, activation)
    theirs = pytorch_encoder(ours, residual, activation)
    x = torch.randn(B, S, D, dtype=torch.float64)
    allowed = masks.padding(torch.tensor([3, 5]), S)
    assert_close(ours(x), theirs(x))
    assert_close(ours(x, allowed)[0, :3], theirs(x, src_key_padding_mask=~allowed[:, 0, 0])[0, :3])
    assert_close(ours(x, allowed)[1], theirs(x, src_key_padding_mask=~allowed[:, 0, 0])[1])


@RESIDUALS
@ACTIVATIONS
def test_the_decoder_is_pytorchs_with_the_same_weights(residual: Residual, activation: str) -> None:
    _, ours = stacks(residual, activation)
    theirs = pytorch_decoder(ours, residual, activation)
    x, memory = torch.randn(B, T, D, dtype=torch.float64), torch.randn(B, S, D, dtype=torch.float64)
    causal, real = masks.causal(T), masks.padding(torch.tensor([3, 5]), S)
    expected = theirs(x, memory, tgt_mask=~causal[0, 0], memory_key_padding_mask=~real[:, 0, 0])
    assert_close(ours(x, memory, causal, real), expected)


# --- parts --------------------------------------------------------------------------------------


def test_feed_forward_is_equation_2() -> None:
    network = shaken(FeedForward(D, D_FF))
    x = torch.randn(B, T, D, dtype=torch.float64)
    inner = (x @ network.w_1.weight.T + network.w_1.bias).clamp_min(0)
    assert_close(network(x), inner @ network.w_2.weight.T + network.w_2.bias)


def test_feed_forward_drops_inner_units_in_training_only() -> None:
    network = FeedForward(D, D_FF, dropout=0.5)
    x = torch.randn(B, T, D)
    assert not torch.equal(network(x), network(x))
    network.eval()
    assert torch.equal(network(x), network(x))


def test_post_norm_normalises_the_sum_and_pre_norm_the_input() -> None:
    x = torch.randn(B, T, D, dtype=torch.float64)
    post, pre = shaken(PostNorm(D, 0.0)), shaken(PreNorm(D, 0.0))
    assert_close(post(x, torch.sin), post.norm(x + x.sin()))
    assert_close(pre(x, torch.sin), x + pre.norm(x).sin())


@RESIDUALS
def test_dropout_falls_on_the_sublayers_output_not_on_the_residual(residual: Residual) -> None:
    block = residual(D, 0.5)
    assert isinstance(block, PostNorm | PreNorm)
    block.norm = nn.Identity()
    added = block(torch.full((B, T, D), 7.0), torch.ones_like) - 7
    assert sorted(set(added.flatten().tolist())) == [0.0, 2.0]


@RESIDUALS
def test_a_stack_ends_normalised(residual: Residual) -> None:
    encoder, decoder = stacks(residual)
    for parameter in (*encoder.parameters(), *decoder.parameters()):
        if parameter.dim() == 1:
            nn.init.zeros_(parameter)
    for norm in (module for stack in (encoder, decoder) for module in stack.modules()):
        if isinstance(norm, nn.LayerNorm):
            nn.init.ones_(norm.weight)
    x = 100 * torch.randn(B, T, D, dtype=torch.float64)
    for out in (encoder(x), decoder(x, x)):
        assert_close(out.mean(-1), torch.zeros(B, T, dtype=torch.float64))
        assert_close(out.std(-1, correction=0), torch.ones(B, T, dtype=torch.float64), atol=1e-4, rtol=0)


# --- who sees what ------------------------------------------------------------------------------


@RESIDUALS
def test_the_decoder_ignores_the_future(residual: Residual) -> None:
    _, decoder = stacks(residual)
    x, memory = torch.randn(B, T, D, dtype=torch.float64), torch.randn(B, S, D, dtype=torch.float64)
    before = decoder(x, memory, masks.causal(T))
    for now in range(T):
        changed = torch.cat([x[:, : now + 1], torch.randn(B, T - now - 1, D, dtype=torch.float64)], dim=1)
        after = decoder(changed, memory, masks.causal(T))
        assert_close(after[:, : now + 1], before[:, : now + 1], atol=1e-12, rtol=0)
        if now + 1 < T:
            assert not torch.allclose(after[:, now + 1 :], before[:, now + 1 :])


@RESIDUALS
def test_padding_is_ignored(residual: Residual) -> None:
    encoder, decoder = stacks(residual)
    lengths = torch.tensor([3, 5])
    allowed = masks.padding(lengths, S)
    real = allowed[:, 0, 0, :, None]
    x = torch.randn(B, S, D, dtype=torch.float64)
    changed = torch.where(real, x, torch.randn_like(x))
    assert not torch.equal(x, changed)
    one, other = encoder(x, allowed), encoder(changed, allowed)
    assert_close(torch.where(real, one, 0.0), torch.where(real, other, 0.0), atol=1e-12, rtol=0)
    y = torch.randn(B, T, D, dtype=torch.float64)
    assert_close(decoder(y, one, None, allowed), decoder(y, other + ~real, None, allowed), atol=1e-12, rtol=0)


def test_a_stack_has_dropout_wherever_a_residual_is() -> None:
    decoder = TransformerDecoder(
        L,
        D,
        attention=lambda: MultiHeadAttention(D, H),
        feed_forward=lambda: FeedForward(D, D_FF),
        dropout=0.3,
    )
    assert [part.p for part in decoder.modules() if isinstance(part, Dropout)].count(0.3) == 3 * L


# --- step by step -------------------------------------------------------------------------------


def steps(decoder: TransformerDecoder, x: Tensor, memory: Tensor, allowed: Tensor, at_once: int) -> Tensor:
    caches, out = decoder.begin(memory), []
    for start in range(0, T, at_once):
        part = x[:, start : start + at_once]
        end = start + part.shape[1]
        out.append(decoder.step(part, caches, masks.causal(end)[:, :, start:], allowed))
    return torch.cat(out, dim=1)


@RESIDUALS
@pytest.mark.parametrize("at_once", [1, 3, T])
def test_cached_steps_of_any_size_equal_the_whole_sequence(residual: Residual, at_once: int) -> None:
    _, decoder = stacks(residual)
    x, memory = torch.randn(B, T, D, dtype=torch.float64), torch.randn(B, S, D, dtype=torch.float64)
    allowed = masks.padding(torch.tensor([3, 5]), S)
    whole = decoder(x, memory, masks.causal(T), allowed)
    assert_close(steps(decoder, x, memory, allowed, at_once), whole)
