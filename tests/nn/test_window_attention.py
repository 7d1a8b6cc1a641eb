"""Sliding windows against full attention with the window as a mask, in float64."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from multihead.batch import Source
from multihead.models.transformer import Settings, Transformer
from multihead.nn import attention, masks
from multihead.nn.description import ScoreSpec, WindowSpec, describe
from multihead.nn.kernels.window_attention import WindowLayout, attend
from multihead.nn.parts.window import WindowAttention, WindowedScore, band, window_attention
from multihead.nn.score_functions import DotScore

B, H, D_K, D_V = 2, 3, 5, 7


def inputs(n: int, b: int = B) -> list[Tensor]:
    torch.manual_seed(n)
    sizes = (D_K, D_K, D_V)
    return [torch.randn(b, H, n, d, dtype=torch.float64, requires_grad=True) for d in sizes]


def by_hand(n: int, before: int, after: int, dilation: int, places: tuple[int, ...]) -> Tensor:
    """The mask, entry by entry."""
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        seen = {i + step * dilation for step in range(-before, after + 1)} | set(places)
        if i in places:
            seen = set(range(n))
        for j in seen & set(range(n if after else i + 1)):
            mask[i, j] = True
    return mask


def real(lengths: list[int], n: int) -> Tensor:
    return (torch.arange(n) < torch.tensor(lengths)[:, None])[:, None, None]


WINDOWS = [
    pytest.param(131, 3, 3, 1, (), id="bidirectional"),
    pytest.param(131, 6, 0, 1, (), id="causal"),
    pytest.param(197, 70, 70, 1, (), id="wider than a block"),
    pytest.param(11, 17, 17, 1, (), id="longer than the text"),
    pytest.param(11, 17, 0, 1, (), id="longer than the text, causal"),
    pytest.param(137, 4, 2, 3, (), id="dilated"),
    pytest.param(137, 5, 0, 3, (), id="dilated, causal"),
    pytest.param(5, 2, 2, 7, (), id="dilation longer than the text"),
    pytest.param(131, 3, 3, 1, (0, 67), id="global"),
    pytest.param(131, 3, 0, 1, (0, 67), id="global, causal"),
    pytest.param(139, 3, 2, 4, (0, 67), id="global, dilated"),
    pytest.param(139, 3, 0, 4, (2, 67), id="global, dilated, causal"),
    pytest.param(131, 3, 3, 1, (0, 131, 10_000), id="global positions outside the text"),
    pytest.param(1, 3, 3, 1, (), id="one position"),
    pytest.param(67, 0, 0, 1, (), id="only itself"),
    pytest.param(128, 3, 3, 1, (), id="whole blocks"),
]


@pytest.mark.parametrize(("n", "before", "after", "dilation", "places"), WINDOWS)
@pytest.mark.parametrize("padded", [False, True])
def test_a_window_equals_full_attention_with_a_mask(
    n: int, before: int, after: int, dilation: int, places: tuple[int, ...], padded: bool
) -> None:
    window = WindowSpec(before, after, dilation, places)
    mask = by_hand(n, before, after, dilation, places)
    assert bool((mask == band(n, n, window)).all())
    lengths = [n, max(1, n - 3)]
    allowed = real(lengths, n) if padded else None
    q, k, v = inputs(n)
    expected = attention(q, k, v, mask if allowed is None else mask & allowed)
    found = window_attention(q, k, v, window, allowed)
    # What a query at padding reads is never used, and need not have a key.
    used = torch.ones(B, 1, n, 1, dtype=torch.float64) if allowed is None else allowed.mT.double()
    assert_close(found * used, expected * used)
    shown = torch.randn_like(expected)
    ours = torch.autograd.grad((found * used * shown).sum(), (q, k, v))
    theirs = torch.autograd.grad((expected * used * shown).sum(), (q, k, v))
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other)


def test_a_window_is_causal() -> None:
    q, k, v = inputs(131)
    before = window_attention(q, k, v, WindowSpec(9, 0, 2, (0, 31)))
    k2, v2 = k.clone(), v.clone()
    k2[:, :, 71:], v2[:, :, 71:] = 100, -100
    after = window_attention(q, k2, v2, WindowSpec(9, 0, 2, (0, 31)))
    assert_close(after[:, :, :71], before[:, :, :71], atol=0, rtol=0)
    assert bool((after[:, :, 71] != before[:, :, 71]).any())


def test_a_query_without_keys_gets_zero_and_sends_finite_gradients() -> None:
    q, k, v = inputs(131)
    allowed = real([131, 5], 131)
    found = window_attention(q, k, v, WindowSpec(3, 3), allowed)
    assert bool((found[1, :, 9:] == 0).all())
    for gradient in torch.autograd.grad(found.square().sum(), (q, k, v)):
        assert bool(gradient.isfinite().all())


def test_gradients_agree_with_finite_differences() -> None:
    q, k, v = (x.detach()[:, :2, :, :3].contiguous().requires_grad_() for x in inputs(13))
    allowed = real([13, 11], 13)

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return window_attention(q, k, v, WindowSpec(2, 1, 2, (0, 5)), allowed)[:, :, :11]

    assert torch.autograd.gradcheck(run, (q, k, v))


def test_dropout_drops_weights_and_keeps_their_mean() -> None:
    n, p = 67, 0.25
    q, k = torch.zeros(1, 1, n, 3), torch.zeros(1, 1, n, 3)
    v = torch.eye(n)[None, None]
    torch.manual_seed(5)
    weights = torch.stack([window_attention(q, k, v, WindowSpec(2, 2), dropout=p)[0, 0] for _ in range(400)])
    inner = weights[:, 10:50]
    seen = inner[:, band(n, n, WindowSpec(2, 2))[10:50]]
    assert sorted(set(seen.flatten().tolist())) == pytest.approx([0.0, 0.2 / (1 - p)])
    assert float((seen == 0).float().mean()) == pytest.approx(p, abs=0.02)
    assert float(seen.mean()) == pytest.approx(0.2, abs=0.01)


def test_the_gradient_uses_the_dropout_of_the_forward_pass() -> None:
    q, k, v = inputs(131)
    torch.manual_seed(3)
    found = window_attention(q, k, v, WindowSpec(3, 3), dropout=0.5)
    (gradient,) = torch.autograd.grad(found.sum(), v)
    # The output is linear in v: its value follows from the gradient.
    assert_close((gradient * v).sum(), found.sum())


def test_a_gradient_with_dropout_agrees_with_finite_differences() -> None:
    q, k, v = (x.detach()[:1, :1, :, :3].contiguous().requires_grad_() for x in inputs(11))

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        torch.manual_seed(3)
        return window_attention(q, k, v, WindowSpec(2, 2), dropout=0.3)

    assert torch.autograd.gradcheck(run, (q, k, v))


def test_bf16_is_close_to_float64() -> None:
    q, k, v = inputs(131)
    window = WindowSpec(9, 9, 1, (0,))
    expected = window_attention(q, k, v, window)
    q, k, v = (x.detach().bfloat16() for x in (q, k, v))
    found = window_attention(q, k, v, window)
    assert found.dtype == torch.bfloat16
    assert_close(found.double(), expected, atol=0.03, rtol=0.03)


def test_nothing_as_large_as_the_square_is_kept_or_made() -> None:
    n = 4096
    q = torch.randn(1, 1, n, 8, requires_grad=True)
    kept: list[int] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        window_attention(q, q, q, WindowSpec(16, 16)).sum()
    assert 0 < max(kept) <= n * 8


def test_cached_steps_attend_like_the_whole_sequence() -> None:
    q, k, v = inputs(41)
    part = WindowAttention(5, 0, dilation=2, places=(1,))
    whole = part(q, k, v)
    for last in (1, 3):
        new, seen = slice(38, 38 + last), slice(0, 38 + last)
        assert_close(part(q[:, :, new], k[:, :, seen], v[:, :, seen]), whole[:, :, new])


def test_weights_are_those_of_forward() -> None:
    q, k, v = inputs(41)
    allowed = real([41, 37], 41)
    part = WindowAttention(4, 2, dilation=2, places=(3,))
    weights = part.weights(q, k, allowed)
    assert_close((weights @ v)[:, :, :37], part(q, k, v, allowed)[:, :, :37])


def test_the_kernel_scales_by_the_width() -> None:
    q, k, v = (x.flatten(0, 1) for x in inputs(3))
    scores = q @ k.mT / math.sqrt(D_K)
    assert_close(attend(q, k, v, WindowLayout(3, 3)), scores.softmax(-1) @ v)


def test_another_score_is_restricted_by_a_mask() -> None:
    q, k, v = (x.detach() for x in inputs(41))
    part = WindowedScore(DotScore(), 3, 0)
    assert_close(part(q, k, v), DotScore()(q, k, v, band(41, 41, WindowSpec(3, 0))))
    found = describe(part, ScoreSpec)
    assert (found.kind, found.scaled, found.window) == ("dot", False, WindowSpec(3, 0))


SIZES: dict[str, object] = {
    "source_vocab": 29,
    "target_vocab": 29,
    "d_model": 12,
    "d_ff": 19,
    "num_layers": 2,
    "num_heads": 3,
}


@pytest.mark.parametrize("score", ["scaled_dot", "dot", "additive"])
def test_a_restricted_transformer_is_a_transformer_with_a_mask(score: str) -> None:
    plain, restricted = (
        Transformer(Settings.model_validate({**SIZES, "score": score, "window": w})).eval() for w in (0, 5)
    )
    names, weights = restricted.state_dict().keys(), plain.state_dict().values()
    restricted.load_state_dict(dict(zip(names, weights, strict=True)))
    source, target = torch.randint(0, 29, (2, 17)), torch.randint(0, 29, (2, 13))
    lengths = torch.tensor([17, 11])
    padding = masks.padding(lengths, 17)
    memory = plain.encode(source, padding & masks.window(17, 5))
    assert_close(restricted.encode(source, padding)[1, :11], memory[1, :11])
    x = plain.target_positions(plain.target_embedding(target))
    hidden = plain.decoder(x, memory, masks.causal(13) & masks.window(13, 5), padding)
    assert_close(restricted(source, target, lengths), plain.output.logits(hidden, None))


def test_search_frees_the_positions_that_left_the_window() -> None:
    model = Transformer(Settings.model_validate({**SIZES, "window": 7})).eval()
    target = torch.randint(0, 29, (1, 40))
    source = Source(torch.randint(0, 29, (1, 11)), torch.tensor([11]))
    with torch.no_grad():
        whole = model(source.ids_BS, target, source.lengths_B)[0]
        state = model.start(source, [[int(target[0, 0])]])
        for place, token in enumerate(target[0]):
            logits, state = model.step(token[None], state)
            assert_close(logits[0], whole[place], atol=1e-5, rtol=1e-5)
    assert state.position == 40
    assert state.length <= 2 * 3 + 2
