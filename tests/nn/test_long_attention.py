"""Longformer, Linformer, Reformer, linear and banded attention against full attention, in float64."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn import MultiHeadAttention, attention, masks
from multihead.nn.kernels.hashed_attention import ITSELF
from multihead.nn.parts.bands import CausalAttention
from multihead.nn.parts.linear_attention import LinearAttention, feature_map
from multihead.nn.parts.linformer import LinformerAttention, Projections, SequenceProjection
from multihead.nn.parts.longformer import LongformerAttention
from multihead.nn.parts.reformer import LSHAttention, ReformerAttention, buckets_for

B, H, D_K, D_V = 2, 3, 5, 7


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(3)


def heads(n: int, *sizes: int) -> list[Tensor]:
    return [torch.randn(B, H, n, d, dtype=torch.float64, requires_grad=True) for d in sizes]


def agree(found: Tensor, expected: Tensor, of: list[Tensor]) -> None:
    """Outputs and gradients agree."""
    assert_close(found, expected)
    shown = torch.randn_like(expected)
    ours, theirs = (torch.autograd.grad((x * shown).sum(), of, retain_graph=True) for x in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other)


def padding(n: int) -> Tensor:
    return masks.padding(torch.tensor([n, n - 4]), n)


# --- dense layers between bands ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [37, 1031])
def test_dense_causal_attention_needs_no_mask(n: int) -> None:
    q, k, v = heads(n, D_K, D_K, D_V)
    agree(CausalAttention()(q, k, v), attention(q, k, v, masks.causal(n)), [q, k, v])


def test_dense_causal_attention_continues_from_a_cache() -> None:
    q, k, v = heads(37, D_K, D_K, D_V)
    part = CausalAttention()
    assert_close(part(q[:, :, 31:], k, v), part(q, k, v)[:, :, 31:])
    assert_close(part.weights(q, k) @ v, part(q, k, v))


# --- linear attention -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 37, 64, 131])
@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_is_its_weights_times_the_values(n: int, causal: bool) -> None:
    q, k, v = heads(n, D_K, D_K, D_V)
    scores = feature_map(q) @ feature_map(k).mT
    if causal:
        scores = scores * masks.causal(n)
    part = LinearAttention(causal=causal)
    agree(part(q, k, v), scores / scores.sum(-1, keepdim=True) @ v, [q, k, v])
    assert_close(part.weights(q, k) @ v, part(q, k, v))


@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_leaves_padding_out(causal: bool) -> None:
    q, k, v = heads(37, D_K, D_K, D_V)
    part = LinearAttention(causal=causal)
    found = part(q, k, v, padding(37))
    assert_close(found[1, :, :33], part(q[1:, :, :33], k[1:, :, :33], v[1:, :, :33])[0])
    assert_close(part.weights(q, k, padding(37)) @ v, found)


def test_linear_attention_continues_from_a_cache() -> None:
    q, k, v = heads(37, D_K, D_K, D_V)
    part = LinearAttention(causal=True)
    assert_close(part(q[:, :, 33:], k, v), part(q, k, v)[:, :, 33:])


# --- Linformer --------------------------------------------------------------------------------------------


def test_linformer_is_attention_over_projected_keys_and_values() -> None:
    q, k, v = heads(37, D_K, D_K, D_V)
    keys, values = (SequenceProjection(41, 11).double() for _ in range(2))
    part = LinformerAttention(keys, values)
    e, f = keys.weight[:, :37], values.weight[:, :37]
    scores = torch.einsum("bhqd,kn,bhnd->bhqk", q, e, k) / math.sqrt(D_K)
    expected = torch.einsum("bhqk,kn,bhnd->bhqd", scores.softmax(-1), f, v)
    agree(part(q, k, v), expected, [q, k, v, keys.weight, values.weight])


def test_linformer_leaves_padding_out() -> None:
    q, k, v = heads(37, D_K, D_K, D_V)
    part = LinformerAttention(SequenceProjection(41, 11).double(), SequenceProjection(41, 11).double())
    found = part(q, k, v, padding(37))
    assert_close(found[1, :, :33], part(q[1:, :, :33], k[1:, :, :33], v[1:, :, :33])[0])


def test_linformer_refuses_a_longer_text() -> None:
    with pytest.raises(ValueError, match="43 positions, but the Linformer's projection has 41"):
        SequenceProjection(41, 11)(torch.zeros(1, 1, 43, 5))


@pytest.mark.parametrize(("sharing", "count"), [("headwise", 6), ("key_value", 3), ("layerwise", 1)])
def test_linformer_shares_projections_as_named(sharing: str, count: int) -> None:
    made = Projections(sharing, 41, 11)  # type: ignore[arg-type]
    layers = [made.of_layer() for _ in range(3)]
    assert len({id(part) for layer in layers for part in layer}) == count


# --- Reformer ---------------------------------------------------------------------------------------------


def by_buckets(part: LSHAttention, q: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Full attention with the union of the buckets as a mask, entry by entry."""
    n = q.shape[2]
    hashes = part.hashes(q)
    mask = torch.zeros(B, H, n, n, dtype=torch.bool)
    for r in range(len(hashes)):
        mask |= hashes[r][..., :, None] == hashes[r][..., None, :]
    if part.causal:
        mask &= masks.causal(n)
    if allowed is not None:
        mask &= allowed
    keys = q / q.norm(dim=-1, keepdim=True)
    scores = q @ keys.mT / math.sqrt(D_K)
    scores = scores - torch.eye(n, dtype=q.dtype) * (scores - ITSELF)
    out: Tensor = scores.masked_fill(~mask, -math.inf).softmax(-1) @ v
    return out


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "buckets"), [(1, 12), (37, 12), (64, 12), (101, 12), (101, 514), (23, 66_000)])
def test_hashed_attention_is_full_attention_within_buckets(
    n: int, buckets: int, causal: bool, rounds: int
) -> None:
    q, v = heads(n, D_K, D_V)
    part = LSHAttention(D_K, buckets=buckets, rounds=rounds, chunk=32, causal=causal).double()
    largest = max(int(row.bincount().max()) for row in part.hashes(q).flatten(0, 2))
    assert largest <= 32, "the oracle holds while no bucket is larger than a chunk"
    agree(part(q, q, v), by_buckets(part, q, v), [q, v])
    assert_close(part.weights(q, q) @ v, part(q, q, v))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "buckets"), [(2, 2), (37, 4), (97, 2), (97, 16), (97, 600)])
def test_all_scores_at_once_are_the_rounds_of_chunks(
    n: int, buckets: int, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where buckets are larger than chunks, and with padding."""
    q, v = heads(n, D_K, D_V)
    part = LSHAttention(D_K, buckets=buckets, rounds=13, chunk=16, causal=causal).double()
    mask, real = (padding(n), n - 4) if n > 5 else (None, n)
    at_once = part(q, q, v, mask)
    called: list[int] = []

    def never(*given: object) -> None:
        called.append(n)

    monkeypatch.setattr("multihead.nn.parts.reformer.FASTER_AT_ONCE", 0.0)
    monkeypatch.setattr("multihead.nn.parts.reformer.attend_at_once", never)
    agree(at_once[:, :, :real], part(q, q, v, mask)[:, :, :real], [q, v])
    assert not called


def test_hashed_attention_leaves_padding_out() -> None:
    q, v = heads(37, D_K, D_V)
    part = LSHAttention(D_K, buckets=4, rounds=2, chunk=32).double()
    found = part(q, q, v, padding(37))
    assert_close(found[1, :, :33], by_buckets(part, q, v, padding(37))[1, :, :33])


@pytest.mark.parametrize("causal", [False, True])
def test_a_bucket_that_takes_everything_is_cut_into_chunks(causal: bool) -> None:
    n, chunk = 101, 8
    q = torch.ones(B, H, n, D_K, dtype=torch.float64, requires_grad=True)
    (v,) = heads(n, D_V)
    part = LSHAttention(D_K, buckets=8, rounds=2, chunk=chunk, causal=causal).double()
    assert all(len(row.unique()) == 1 for row in part.hashes(q).flatten(0, 2))
    block = torch.arange(n) // chunk
    near = (block[:, None] - block).abs() <= 1
    if causal:
        near &= masks.causal(n)[0, 0]
    scores = torch.zeros(n, n, dtype=torch.float64).masked_fill(torch.eye(n).bool(), ITSELF)
    expected = scores.masked_fill(~near, -math.inf).softmax(-1) @ v
    assert_close(part(q, q, v), expected)


def test_causal_hashed_attention_ignores_the_future() -> None:
    q, v = heads(101, D_K, D_V)
    part = LSHAttention(D_K, buckets=12, rounds=2, chunk=64, causal=True).double()
    q2, v2 = q.clone(), v.clone()
    q2[:, :, 71:], v2[:, :, 71:] = torch.randn(30, D_K, dtype=torch.float64), -100
    assert_close(part(q2, q2, v2)[:, :, :71], part(q, q, v)[:, :, :71])


def test_hashed_attention_continues_from_a_cache() -> None:
    q, v = heads(37, D_K, D_V)
    part = LSHAttention(D_K, buckets=6, rounds=2, chunk=32, causal=True).double()
    assert_close(part(q[:, :, 33:], q, v), part(q, q, v)[:, :, 33:])


def test_many_buckets_are_pairs_of_hashes() -> None:
    part = LSHAttention(16, buckets=512, rounds=2)
    x = torch.randn(1, 1, 50, 16)
    first, second = torch.split(x @ part.rotations[0], [11, 12], -1)
    expected = torch.cat([first, -first], -1).argmax(-1) * 24 + torch.cat([second, -second], -1).argmax(-1)
    assert torch.equal(part.hashes(x)[0], expected)


@pytest.mark.parametrize("buckets", [16, 514])
def test_similar_vectors_share_buckets_more_often(buckets: int) -> None:
    part = LSHAttention(16, buckets=buckets, rounds=64)
    x, other = torch.randn(2, 1, 1, 50, 16)
    near = x + 0.2 * torch.randn_like(x)
    same = (part.hashes(x) == part.hashes(near)).float().mean()
    assert float(same) > 3 * float((part.hashes(x) == part.hashes(other)).float().mean())


def test_a_chunk_has_two_buckets_of_mean_size() -> None:
    assert buckets_for(4096, 64) == 128
    assert buckets_for(37, 64) == 2


# --- Longformer -------------------------------------------------------------------------------------------


def longformer(reach: int, tokens: int, dilation: int = 1) -> LongformerAttention:
    return LongformerAttention(15, 3, reach=reach, global_tokens=tokens, dilation=dilation).double()


def test_longformer_has_projections_of_its_own_for_global_positions() -> None:
    n, reach = 41, 3
    part = longformer(reach, 2)
    x = torch.randn(B, n, 15, dtype=torch.float64, requires_grad=True)
    allowed = padding(n)
    ordinary, everywhere = (MultiHeadAttention(15, 3).double() for _ in range(2))
    for name in ("w_q", "w_k", "w_v"):
        getattr(ordinary, name).load_state_dict(getattr(part, name).state_dict())
        getattr(everywhere, name).load_state_dict(getattr(part, f"{name}_global").state_dict())
    for other in (ordinary, everywhere):
        other.w_o.load_state_dict(part.w_o.state_dict())
    mask = masks.window(n, 2 * reach + 1)
    mask[..., :2] = True
    rows = torch.arange(n)[:, None] < 2
    expected = torch.where(rows, everywhere(x, x, allowed), ordinary(x, x, allowed & mask))
    used = allowed[:, 0, 0, :, None]
    agree(part(x, x, allowed) * used, expected * used, [x])


def test_longformers_weights_are_those_of_forward() -> None:
    part = longformer(2, 1, dilation=3)
    given: list[tuple[Tensor, ...]] = []
    part.score.register_forward_pre_hook(lambda module, args: given.append(args))
    x = torch.randn(B, 41, 15, dtype=torch.float64)
    found = part(x, x)
    q, k, v, allowed = given[0]
    weights = part.score.weights(q, k, allowed)  # type: ignore[operator]
    assert_close(weights.sum(-1), torch.ones(B, 3, 41, dtype=torch.float64))
    local, everywhere = v.chunk(2, -1)
    mixed = torch.cat([weights[:, :, :1] @ everywhere, weights[:, :, 1:] @ local], 2)
    assert_close(part.w_o(mixed.transpose(1, 2).flatten(2)), found)


def test_longformer_takes_a_text_shorter_than_its_global_tokens() -> None:
    x = torch.randn(B, 3, 15, dtype=torch.float64)
    assert longformer(2, 5)(x, x).shape == x.shape


# --- all ---------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[], nn.Module]] = {
    "longformer": lambda: longformer(2, 1),
    "linformer": lambda: MultiHeadAttention(
        15, 3, score=LinformerAttention(*Projections("key_value", 13, 5).of_layer())
    ),
    "reformer": lambda: ReformerAttention(15, 3, buckets=4, rounds=2, chunk=4),
    "linear": lambda: MultiHeadAttention(15, 3, score=LinearAttention(causal=True)),
}


@pytest.mark.parametrize("name", PARTS)
def test_gradients_agree_with_finite_differences(name: str) -> None:
    part = PARTS[name]().double()
    x = torch.randn(1, 11, 15, dtype=torch.float64, requires_grad=True)
    weights = [p for p in part.parameters() if p.requires_grad][:1]
    assert torch.autograd.gradcheck(lambda x, *_: part(x, x), (x, *weights), fast_mode=True)


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_gradients_of_hashed_attention_agree_with_finite_differences(p: float) -> None:
    part = LSHAttention(3, buckets=4, rounds=2, chunk=4, dropout=p).double().train()
    q, v = (torch.randn(1, 2, 11, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def run(q: Tensor, v: Tensor) -> Tensor:
        torch.manual_seed(5)
        out: Tensor = part(q, q, v, masks.padding(torch.tensor([9]), 11))
        return out[:, :, :9]

    assert torch.autograd.gradcheck(run, (q, v))


def test_hashed_attention_keeps_nothing_as_large_as_its_scores() -> None:
    n = 512
    q = torch.randn(1, 1, n, 8, requires_grad=True)
    kept: list[int] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        LSHAttention(8, buckets=16, rounds=2, chunk=64)(q, q, q)
    assert 0 < max(kept) <= 2 * n * 8


def test_hashed_attention_computes_in_bf16_where_norms_are_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    # Autocast on a GPU computes norms in float32.
    normalize = torch.nn.functional.normalize
    monkeypatch.setattr(torch.nn.functional, "normalize", lambda x, dim: normalize(x.float(), dim=dim))
    x = torch.randn(2, 3, 29, 8, dtype=torch.bfloat16, requires_grad=True)
    attend = LSHAttention(8, buckets=4, chunk=8, rounds=2, causal=False)
    found = attend(x, x, x)
    assert found.dtype == torch.bfloat16
    found.sum().backward()
    assert x.grad is not None
    assert bool(x.grad.isfinite().all())
