"""The GPU's cross-entropy against the equation: on a GPU, or by Triton's interpreter where there is none."""

import os
import subprocess
import sys

import pytest
import torch

PROGRAM = """
import torch
import torch.nn.functional as F
from multihead.nn.kernels.triton_cross_entropy import rows_to_gradient

device = "cuda" if torch.cuda.is_available() else "cpu"
for N, V, smoothing in [(7, 13, 0.1), (5, 5003, 0.0), (3, 1, 0.2), (4, 8192, 0.1)]:
    torch.manual_seed(N)
    logits = (3 * torch.randn(N, V)).to(device)
    targets = torch.randint(0, V, (N,), device=device)
    exact = logits.double().requires_grad_()
    loss = F.cross_entropy(exact, targets, label_smoothing=smoothing, reduction="sum")
    loss.backward()
    nll = F.cross_entropy(exact, targets, reduction="sum")
    correct = (exact.gather(1, targets[:, None])[:, 0] >= exact.amax(1)).sum()
    found = logits.clone()
    sums = rows_to_gradient(found, targets, smoothing, True).double()
    assert torch.allclose((1 - smoothing) * sums[0] + smoothing * sums[1], loss, rtol=1e-5), (sums, loss)
    assert torch.allclose(sums[0], nll, rtol=1e-5)
    assert sums[2] == correct
    assert torch.allclose(found.double(), exact.grad, atol=1e-6)
    # Without gradient the logits stay; a row that counts nothing adds nothing.
    kept, fewer = logits.clone(), targets.clone()
    fewer[1] = -1
    assert torch.equal(rows_to_gradient(kept, targets, smoothing, False).double(), sums)
    assert torch.equal(kept, logits)
    others = rows_to_gradient(kept, fewer, smoothing, True).double()
    alone = rows_to_gradient(logits[1:2].clone(), targets[1:2], smoothing, True).double()
    assert torch.allclose(others + alone, sums, rtol=1e-5)
    assert not kept[1].any() and torch.equal(kept[0], found[0])
print("right")
"""


def test_rows_to_gradient_is_the_gradient_of_smoothed_cross_entropy() -> None:
    pytest.importorskip("triton")
    environment = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout.strip() == "right", told.stderr
