"""The exercises of the course: each check returns a fault in words, or None for a solution."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from multihead.nn import masks
from multihead.nn.attention import attention
from multihead.nn.feed_forward import FeedForward
from multihead.nn.layers import EncoderLayer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.positions import sinusoids
from multihead.nn.residual import PostNorm

Function = Callable[..., Any]
TOLERANCE = 1e-4


def _compare(found: object, wanted: Tensor, given: str) -> str | None:
    """Return the difference of an output from the package's, in words."""
    if not isinstance(found, Tensor):
        return (
            "nothing is returned yet"
            if found in (None, ...)
            else f"it returns {type(found).__name__}, not a tensor"
        )
    if found.shape != wanted.shape:
        return f"{given}: the shape is {tuple(found.shape)}, not {tuple(wanted.shape)}"
    if found.dtype == torch.bool or wanted.dtype == torch.bool:
        wrong = int((found != wanted).sum())
        return f"{given}: {wrong} of {wanted.numel()} entries differ" if wrong else None
    off = float((found - wanted).abs().max())
    return None if off < TOLERANCE else f"{given}: the result differs by up to {off:.2g}"


def _pair_counts(function: Function) -> str | None:
    words = {"l o w": 5, "l o w e r": 2, "n e w": 6}
    wanted = {("l", "o"): 7, ("o", "w"): 7, ("w", "e"): 2, ("e", "r"): 2, ("n", "e"): 6, ("e", "w"): 6}
    found = dict(function(words))
    return None if found == wanted else f"for {words} it finds {found}, not {wanted}"


def _merge(function: Function) -> str | None:
    found, wanted = function("n e w e s t e s t", ("e", "s")), "n e w es t es t"
    if found != wanted:
        return f"'n e w e s t e s t' with ('e', 's') becomes {found!r}, not {wanted!r}"
    found = function("be e s e e s", ("e", "e"))
    return (
        None
        if found == "be e s ee s"
        else f"'be e s e e s' with ('e', 'e') becomes {found!r}: only whole pieces"
    )


def _lookup(function: Function) -> str | None:
    ids, table = torch.tensor([[3, 1, 4], [1, 5, 0]]), torch.randn(7, 5)
    return _compare(function(ids, table), table[ids], "ids (2, 3), table (7, 5)")


def _rnn_step(function: Function) -> str | None:
    torch.manual_seed(1)
    cell = nn.RNNCell(5, 7)
    x, h = torch.randn(3, 5), torch.randn(3, 7)
    w, u, b = cell.weight_ih, cell.weight_hh, cell.bias_ih + cell.bias_hh
    with torch.no_grad():
        return _compare(function(x, h, w, u, b), cell(x, h), "x (3, 5), h (3, 7)")


def _lstm_step(function: Function) -> str | None:
    torch.manual_seed(1)
    c, gates = torch.randn(3, 7), torch.randn(3, 28)
    i, f, g, o = gates.chunk(4, dim=1)
    cell = f.sigmoid() * c + i.sigmoid() * g.tanh()
    found = function(gates, c)
    if not isinstance(found, tuple) or len(found) != 2:
        return "return two tensors: the new h and the new c"
    fault = _compare(found[1], cell, "the new c")
    return fault or _compare(found[0], o.sigmoid() * cell.tanh(), "the new h")


def _clip(function: Function) -> str | None:
    parameters = [nn.Parameter(torch.randn(5, 7)), nn.Parameter(torch.randn(3))]
    for most in (0.5, 1e6):
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        function(parameters, most)
        norm = 38**0.5
        wanted = min(1.0, most / norm)
        for parameter in parameters:
            assert parameter.grad is not None
            if (
                fault := _compare(parameter.grad, torch.full_like(parameter, wanted), f"limit {most}")
            ) is not None:
                return fault
    return None


def _greedy(function: Function) -> str | None:
    def counting(token: int, state: int) -> tuple[Tensor, int]:
        """Writes 2, 3, 4, ..., then the end symbol 0 after 4."""
        scores = torch.zeros(9)
        scores[0 if state == 5 else state] = 1.0
        return scores, state + 1

    found = [list(function(counting, 2, 1, 0, limit)) for limit in (7, 2)]
    if found[0] != [2, 3, 4]:
        return f"it writes {found[0]}, not [2, 3, 4]"
    return None if found[1] == [2, 3] else f"with limit 2 it writes {found[1]}, not [2, 3]"


def _perplexity(function: Function) -> str | None:
    found = function(torch.tensor([0.5, 0.25, 0.125]).log())
    right = isinstance(found, float | Tensor) and abs(float(found) - 4) < TOLERANCE
    return None if right else f"probabilities 1/2, 1/4, 1/8: {found}, not 4"


def _mean_loss(function: Function) -> str | None:
    losses = torch.tensor([[1.0, 2.0, 9.0], [3.0, 9.0, 9.0], [1.0, 1.0, 4.0]])
    return _compare(function(losses, torch.tensor([2, 1, 3])), torch.tensor(2.0), "lengths 2, 1, 3")


def _attention(function: Function) -> str | None:
    q, k, v = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    return _compare(function(q, k, v), attention(q, k, v), "q (2, 3, 5, 7), k (2, 3, 11, 7)")


def _causal_mask(function: Function) -> str | None:
    return _compare(function(7), masks.causal(7)[0, 0], "length 7")


def _cosine_attention(function: Function) -> str | None:
    q, k, v = torch.randn(3, 5, 7), torch.randn(3, 11, 7), torch.randn(3, 11, 13)
    unit_q, unit_k = (x / x.norm(dim=-1, keepdim=True) for x in (q, k))
    wanted = (10 * unit_q @ unit_k.mT).softmax(-1) @ v
    if (fault := _compare(function(q, k, v), wanted, "q (3, 5, 7)")) is not None:
        return fault
    return _compare(function(3 * q, k, v), wanted, "queries three times as long")


def _split_heads(function: Function) -> str | None:
    x = torch.randn(2, 5, 12)
    wanted = torch.stack(torch.split(x, 4, dim=-1), dim=1)
    return _compare(function(x, 3), wanted, "x (2, 5, 12), 3 heads")


def _multi_head(function: Function) -> str | None:
    torch.manual_seed(1)
    layer = MultiHeadAttention(12, 3).eval()
    x = torch.randn(2, 5, 12)
    with torch.no_grad():
        return _compare(function(x, layer), layer(x, x), "x (2, 5, 12), 3 heads")


def _shared_keys(function: Function) -> str | None:
    torch.manual_seed(1)
    layer = MultiHeadAttention(12, 4, num_kv_heads=2).eval()
    k = torch.randn(2, 2, 5, 3)
    return _compare(function(k, 4), k.repeat_interleave(2, dim=1), f"2 key heads for {layer.num_heads} heads")


def _positions(function: Function) -> str | None:
    return _compare(function(11, 8), sinusoids(11, 8), "11 positions, 8 dimensions")


def _shift(function: Function) -> str | None:
    """A rotation that moves the encoding of any position by k (Vaswani et al. 2017, sec. 3.5)."""
    table = sinusoids(23, 8)
    for k in (1, 5):
        if (fault := _compare(table[:-k] @ function(k, 8).mT, table[k:], f"k = {k}")) is not None:
            return fault
    return None


def _relative(function: Function) -> str | None:
    places = torch.arange(5)
    wanted = (places - places[:, None]).clamp(-2, 2) + 2
    found = function(5, 2)
    if isinstance(found, Tensor) and found.shape == wanted.shape:
        return None if bool((found == wanted).all()) else "the buckets of 5 positions, clipped at 2, differ"
    return _compare(found, wanted, "5 positions, clipped at 2")


def _encoder_layer(function: Function) -> str | None:
    from_package = _layer()
    x = torch.randn(2, 5, 12)
    with torch.no_grad():
        wanted = from_package(x)
        return _compare(function(x, from_package), wanted, "x (2, 5, 12)")


def _layer() -> EncoderLayer:
    torch.manual_seed(1)
    return EncoderLayer(MultiHeadAttention(12, 3), FeedForward(12, 31), lambda: PostNorm(12, 0.0)).eval()


def _additive_energy(function: Function) -> str | None:
    torch.manual_seed(1)
    s, h = torch.randn(2, 5), torch.randn(2, 7, 6)
    w, u, v = nn.Linear(5, 4, bias=False), nn.Linear(6, 4, bias=False), torch.randn(4)
    with torch.no_grad():
        wanted = torch.tanh(w(s)[:, None] + u(h)) @ v
        return _compare(function(s, h, w, u, v), wanted, "s (2, 5), h (2, 7, 6)")


def _context(function: Function) -> str | None:
    energy, h = torch.randn(2, 7), torch.randn(2, 7, 6)
    wanted = (energy.softmax(-1)[:, None] @ h)[:, 0]
    return _compare(function(energy, h), wanted, "energy (2, 7), h (2, 7, 6)")


def _alignment(function: Function) -> str | None:
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
    return None if list(function(weights)) == [1, 0, 2, 1] else "a row's source position differs"


def _shifted(function: Function) -> str | None:
    target = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    wanted = torch.tensor([[2, 5, 6, 7], [2, 8, 3, 0]])
    found = function(target, 2)
    same = isinstance(found, Tensor) and found.shape == wanted.shape and bool((found == wanted).all())
    return None if same else "the decoder's input is not the target moved right behind the begin symbol"


def _parameters(function: Function) -> str | None:
    layer = _layer()
    wanted = sum(parameter.numel() for parameter in layer.parameters())
    found = function(12, 31)
    return None if found == wanted else f"d_model 12, d_ff 31: {found}, not {wanted}"


EXERCISES: Mapping[str, Callable[[Function], str | None]] = {
    "pair counts": _pair_counts,
    "merge": _merge,
    "lookup": _lookup,
    "rnn step": _rnn_step,
    "lstm step": _lstm_step,
    "clipping": _clip,
    "greedy": _greedy,
    "perplexity": _perplexity,
    "mean loss": _mean_loss,
    "additive energy": _additive_energy,
    "context": _context,
    "alignment": _alignment,
    "attention": _attention,
    "causal mask": _causal_mask,
    "cosine attention": _cosine_attention,
    "split heads": _split_heads,
    "multi-head attention": _multi_head,
    "shared keys": _shared_keys,
    "positions": _positions,
    "shift": _shift,
    "relative positions": _relative,
    "encoder layer": _encoder_layer,
    "decoder input": _shifted,
    "parameters": _parameters,
}
"""All exercises by name, in the order of the chapters."""
