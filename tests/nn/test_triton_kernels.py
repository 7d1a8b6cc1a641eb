"""The Triton kernels against the equations, on a GPU or in Triton's interpreter."""

import os
import subprocess
import sys

import pytest
import torch

BEGIN = """
import torch
import torch.nn.functional as F
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(7)
def near(found, wanted, within=2e-5):
    assert torch.allclose(found, wanted, rtol=within, atol=within), (found - wanted).abs().max()
"""

CROSS_ENTROPY = """
from multihead.nn.kernels.triton_cross_entropy import rows_to_gradient

for N, V, smoothing in [(7, 13, 0.1), (5, 5003, 0.0), (3, 1, 0.2), (4, 8192, 0.1)]:
    logits = (3 * torch.randn(N, V)).to(device)
    targets = torch.randint(0, V, (N,), device=device)
    exact = logits.double().requires_grad_()
    loss = F.cross_entropy(exact, targets, label_smoothing=smoothing, reduction="sum")
    loss.backward()
    nll = F.cross_entropy(exact, targets, reduction="sum")
    correct = (exact.gather(1, targets[:, None])[:, 0] >= exact.amax(1)).sum()
    found = logits.clone()
    sums = rows_to_gradient(found, targets, smoothing, True).double()
    near((1 - smoothing) * sums[0] + smoothing * sums[1], loss)
    near(sums[0], nll)
    assert sums[2] == correct
    near(found.double(), exact.grad, 1e-6)
    # Without gradient the logits are kept; an ignored row adds nothing.
    kept, fewer = logits.clone(), targets.clone()
    fewer[1] = -1
    assert torch.equal(rows_to_gradient(kept, targets, smoothing, False).double(), sums)
    assert torch.equal(kept, logits)
    others = rows_to_gradient(kept, fewer, smoothing, True).double()
    alone = rows_to_gradient(logits[1:2].clone(), targets[1:2], smoothing, True).double()
    near(others + alone, sums)
    assert not kept[1].any() and torch.equal(kept[0], found[0])
"""

RESIDUAL = """
from multihead.nn.kernels import triton_residual_norm as kernel

for shape in [(7, 13), (2, 3, 128), (5, 601), (541, 24)]:
    norm = nn.LayerNorm(shape[-1]).to(device)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    x, y, g = (torch.randn(shape, device=device) for _ in range(3))
    x.requires_grad_()
    y.requires_grad_()
    every = [x, y, norm.weight, norm.bias]

    def compared(found, wanted, of):
        near(found, wanted)
        for one, other in zip(*(torch.autograd.grad(out, of, g) for out in (found, wanted))):
            near(one, other, 1e-4)

    compared(kernel.residual_norm(x, y, norm, 0.0), norm(x + y), every)
    compared(kernel.residual_norm(x, None, norm, 0.0), norm(x), [x, norm.weight, norm.bias])
    # The gradient reveals the dropout mask: with it, the output is the equation again.
    for compute, equation in (
        (lambda: kernel.residual_sum(x, y, 0.3), lambda mask: x + y * mask),
        (lambda: kernel.residual_norm(x, y, norm, 0.3), lambda mask: norm(x + y * mask)),
    ):
        out = compute()
        (of_y,) = torch.autograd.grad(out, [y], g, retain_graph=True)
        mask = (of_y != 0) / 0.7
        share = mask.count_nonzero() / mask.numel()
        assert abs(share - 0.7) < 4 * (0.21 / mask.numel()) ** 0.5, share
        near(out, equation(mask))
        for one, other in zip(*(torch.autograd.grad(o, [x, y], g) for o in (out, equation(mask)))):
            near(one, other, 1e-4)
    one, other = (kernel.residual_sum(torch.zeros_like(x), torch.ones_like(x), 0.5) for _ in range(2))
    assert not torch.equal(one, other), "the same mask twice"
"""

ATTENTION = """
from multihead.nn.attention import attention
from multihead.nn.kernels import triton_attention as kernel

SIZES = [(2, 3, 5, 7, 8, 8), (1, 2, 16, 33, 5, 9), (3, 1, 1, 64, 32, 16), (2, 2, 64, 64, 64, 64)]
for B, H, Q, K, d_k, d_v in SIZES:
    q = torch.randn(B, Q, H, d_k, device=device).transpose(1, 2).requires_grad_()
    k = torch.randn(B, K, H, d_k, device=device).transpose(1, 2).requires_grad_()
    v = torch.randn(B, H, K, d_v, device=device, requires_grad=True)
    g = torch.randn(B, H, Q, d_v, device=device)
    lengths = torch.randint(1, K + 1, (B, 1), device=device)
    padding = (torch.arange(K, device=device) < lengths)[:, None, None]
    causal = torch.ones(Q, K, dtype=torch.bool, device=device).tril(K - Q)[None, None]
    for allowed in (None, padding, causal, padding & causal):
        assert kernel.suits(q, k, v, allowed)
        found, wanted = kernel.attend(q, k, v, allowed), attention(q, k, v, allowed)
        near(found, wanted)
        for one, other in zip(*(torch.autograd.grad(out, [q, k, v], g) for out in (found, wanted))):
            near(one, other, 1e-4)
assert not kernel.suits(torch.empty(1, 1, 65, 8), k, v, None)
"""

WINDOW = """
from multihead.nn.kernels import triton_window as kernel
from multihead.nn.kernels import window_attention as oracle

def compared(found, wanted, of):
    near(found, wanted)
    g = torch.randn_like(wanted)
    for one, other in zip(*(torch.autograd.grad(out, of, g, retain_graph=True) for out in (found, wanted))):
        near(one, other, 1e-4)

# texts, heads, phases, positions, widths of keys and values, window, extra keys, causal
SIZES = [
    (2, 3, 1, 131, 5, 7, 3, 3, 0, False),
    (2, 1, 2, 67, 8, 8, 9, 0, 0, False),
    (1, 2, 1, 197, 16, 16, 70, 71, 2, False),
    (2, 2, 3, 71, 5, 7, 4, 2, 3, True),
    (1, 1, 1, 1, 3, 3, 4, 4, 0, False),
    (2, 1, 1, 64, 8, 8, 500, 0, 1, True),
]
for B, H, D, N, d_k, d_v, before, after, G, causal in SIZES:
    X = B * H * D
    q, k, v = (torch.randn(X, N, d, device=device, requires_grad=True) for d in (d_k, d_k, d_v))
    assert kernel.suits(q, v)
    of, extra, extra_allowed = [q, k, v], None, None
    if G:
        extra = tuple(torch.randn(X, G, d, device=device, requires_grad=True) for d in (d_k, d_v))
        of += extra
        extra_allowed = torch.rand(B, D if causal else 1, N if causal else 1, G, device=device) < 0.7
    for share, phases in ((1.0, 0), (0.6, D), (0.1, 1)):
        allowed = torch.rand(B, phases, N, device=device) < share if phases else None
        found = kernel.attend(q, k, v, before, after, 0.0, allowed, extra, extra_allowed)
        layout = oracle.Layout(before, after)
        compared(found, oracle._in_blocks(q, k, v, layout, allowed, extra, extra_allowed), of)

# Values of an identity show the weights, and so dropout's mask; with it, the output is the equation again.
N, p = 79, 0.3
q, k, v = (torch.randn(2, N, 16, device=device, requires_grad=True) for _ in range(3))
eye = torch.eye(N, device=device).expand(2, N, N).contiguous()
def dropped(v):
    torch.manual_seed(11)
    return kernel.attend(q, k, v, 8, 5, p)
step = torch.arange(N, device=device) - torch.arange(N, device=device)[:, None]
s = (q @ k.mT / 4).masked_fill((step < -8) | (step > 5), float("-inf"))
weights = s.softmax(-1)
mask = (dropped(eye) / weights.clamp_min(1e-30)).detach()
inside = mask[weights > 1e-6]
assert (((inside.abs() < 1e-5) | ((inside - 1 / (1 - p)).abs() < 1e-3))).all()
assert abs((inside == 0).float().mean() - p) < 0.05
compared(dropped(v), (weights * mask) @ v, [q, k, v])
assert not kernel.suits(torch.empty(1, 1, 129), v) and not kernel.suits(torch.empty(1, 0, 8), v)
"""

PROOFS = """
from importlib import import_module

TRAINING = ("cross_entropy", "residual_norm", "attention", "window")
SEARCH = ("best", "step_attention")
every = [f"nn.kernels.triton_{name}" for name in TRAINING]
for name in every + [f"engines.cuda.triton_{name}" for name in SEARCH]:
    import_module(f"multihead.{name}").prove(torch.device(device))
"""

STEP_ATTENTION = """
from multihead.nn.attention import attention
from multihead.engines.cuda import triton_step_attention as kernel

SIZES = [(2, 3, 5, 7, 8, 8), (1, 2, 1, 97, 5, 9), (3, 1, 16, 64, 32, 16), (2, 2, 2, 240, 64, 64)]
for B, H, Q, K, d_k, d_v in SIZES:
    q, k, v = (torch.randn(B, H, n, d, device=device) for n, d in ((Q, d_k), (K, d_k), (K, d_v)))
    assert kernel.suits(q, v)
    for rows in (1, Q):
        allowed = torch.rand(B, rows, K, device=device) < 0.4
        allowed[:, :, -1] = True  # whole blocks of keys before it may be masked
        bias = torch.zeros(B, rows, K, device=device).masked_fill(~allowed, float("-inf"))
        near(kernel.attend(q, k, v, bias), attention(q, k, v, allowed[:, None]))
    beside = torch.randn(B, Q, H, d_k, device=device).transpose(1, 2)
    near(kernel.attend(beside, k, v, bias), attention(beside, k, v, allowed[:, None]))
assert not kernel.suits(torch.empty(1, 1, 17, 8), v)
"""

BEST = """
from multihead.engines.cuda.triton_best import best, suits

for R, V, k in [(7, 13, 1), (5, 5003, 5), (3, 16, 16), (2, 3, 2)]:
    logits = (3 * torch.randn(R, V)).to(device)
    banned = torch.zeros(V, dtype=torch.bool, device=device)
    banned[1] = V > k
    assert suits(logits, k) and not suits(logits, V + 1) and not suits(logits.T, 1)
    normaliser, ends, values, tokens = best(logits, banned, 2, k)
    near(normaliser, logits.logsumexp(1))
    assert torch.equal(ends, logits[:, 2])
    wanted = logits.masked_fill(banned, float("-inf")).topk(k, dim=1)
    assert torch.equal(values, wanted.values) and torch.equal(tokens, wanted.indices)
equal = torch.zeros(1, 9, device=device)
assert best(equal, torch.zeros(9, dtype=torch.bool, device=device), 0, 3)[3].tolist() == [[0, 1, 2]]
"""


@pytest.mark.parametrize(
    "program",
    [CROSS_ENTROPY, RESIDUAL, ATTENTION, WINDOW, STEP_ATTENTION, BEST, PROOFS],
    ids=["cross_entropy", "residual", "attention", "window", "step_attention", "best", "proofs"],
)
def test_a_kernel_computes_its_equation_and_its_gradient(program: str) -> None:
    pytest.importorskip("triton")
    environment = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program + "\nprint('right')"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "right", done.stderr
