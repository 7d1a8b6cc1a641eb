"""Exercises of chapters 4 to 6: attention, self-attention, heads."""

from collections.abc import Mapping

import torch
from torch import nn

from multihead.apps.course.exercises.compare import Check, Function, compare
from multihead.apps.course.korean import say
from multihead.nn import masks
from multihead.nn.attention import attention
from multihead.nn.multi_head import MultiHeadAttention


def _additive_energy(function: Function) -> str | None:
    torch.manual_seed(1)
    s, h = torch.randn(2, 5), torch.randn(2, 7, 6)
    w, u, v = nn.Linear(5, 4, bias=False), nn.Linear(6, 4, bias=False), torch.randn(4)
    with torch.no_grad():
        expected = torch.tanh(w(s)[:, None] + u(h)) @ v
        return compare(function(s, h, w, u, v), expected, "s (2, 5), h (2, 7, 6)")


def _context(function: Function) -> str | None:
    energy, h = torch.randn(2, 7), torch.randn(2, 7, 6)
    expected = (energy.softmax(-1)[:, None] @ h)[:, 0]
    return compare(function(energy, h), expected, "energy (2, 7), h (2, 7, 6)")


def _alignment(function: Function) -> str | None:
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
    return None if list(function(weights)) == [1, 0, 2, 1] else say("a row's source position differs")


def _attention(function: Function) -> str | None:
    q, k, v = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    return compare(function(q, k, v), attention(q, k, v), "q (2, 3, 5, 7), k (2, 3, 11, 7)")


def _causal_mask(function: Function) -> str | None:
    return compare(function(7), masks.causal(7)[0, 0], "length 7")


def _cosine_attention(function: Function) -> str | None:
    q, k, v = torch.randn(3, 5, 7), torch.randn(3, 11, 7), torch.randn(3, 11, 13)
    unit_q, unit_k = (x / x.norm(dim=-1, keepdim=True) for x in (q, k))
    expected = (10 * unit_q @ unit_k.mT).softmax(-1) @ v
    if (fault := compare(function(q, k, v), expected, "q (3, 5, 7)")) is not None:
        return fault
    return compare(function(3 * q, k, v), expected, say("queries three times as long"))


def _split_heads(function: Function) -> str | None:
    x = torch.randn(2, 5, 12)
    expected = torch.stack(torch.split(x, 4, dim=-1), dim=1)
    return compare(function(x, 3), expected, say("x {}, {} heads", (2, 5, 12), 3))


def _multi_head(function: Function) -> str | None:
    torch.manual_seed(1)
    layer = MultiHeadAttention(12, 3).eval()
    x = torch.randn(2, 5, 12)
    with torch.no_grad():
        return compare(function(x, layer), layer(x, x), say("x {}, {} heads", (2, 5, 12), 3))


def _shared_keys(function: Function) -> str | None:
    torch.manual_seed(1)
    layer = MultiHeadAttention(12, 4, num_kv_heads=2).eval()
    k = torch.randn(2, 2, 5, 3)
    return compare(
        function(k, 4), k.repeat_interleave(2, dim=1), say("2 key heads for {} heads", layer.num_heads)
    )


EXERCISES: Mapping[str, Check] = {
    "additive energy": _additive_energy,
    "context": _context,
    "alignment": _alignment,
    "attention": _attention,
    "causal mask": _causal_mask,
    "cosine attention": _cosine_attention,
    "split heads": _split_heads,
    "multi-head attention": _multi_head,
    "shared keys": _shared_keys,
}
