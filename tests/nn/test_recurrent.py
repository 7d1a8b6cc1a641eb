"""Recurrent stacks against PyTorch's, against their equations, and against themselves step by step."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from multihead.nn.parts.cells import ELMAN, GRU, LSTM, RecurrentCell
from multihead.nn.parts.recurrent import BidirectionalStack, RecurrentStack

B, N, D_IN, D, LAYERS = 3, 7, 11, 5, 2
LENGTHS = torch.tensor([4, 7, 2])

CELLS = pytest.mark.parametrize("cell", [ELMAN, LSTM, GRU], ids=lambda cell: cell.name)


def theirs(ours: RecurrentStack | BidirectionalStack, cell: RecurrentCell) -> nn.RNNBase:
    """PyTorch's own stack of layers with the same weights."""
    kind: Any = cell.layer
    both = isinstance(ours, BidirectionalStack)
    stack: nn.RNNBase = kind(D_IN, D, LAYERS, batch_first=True, bidirectional=both)
    weights = {}
    for name, weight in ours.state_dict().items():
        part, number, rest = name.split(".")
        weights[rest.replace("l0", f"l{number}") + "_reverse" * (part == "backwards")] = weight
    stack.load_state_dict(weights)
    return stack


def real() -> Tensor:
    return (torch.arange(N) < LENGTHS[:, None])[..., None]


@CELLS
def test_a_stack_is_pytorchs(cell: RecurrentCell) -> None:
    ours, x = RecurrentStack(cell, D_IN, D, LAYERS), torch.randn(B, N, D_IN)
    out, last = ours(x)
    expected, final = theirs(ours, cell)(x)
    assert_close(out, expected)
    parts = final if cell is LSTM else (final,)
    assert_close(last, tuple(part[layer] for layer in range(LAYERS) for part in parts))


@CELLS
def test_a_sentence_does_not_depend_on_its_batch(cell: RecurrentCell) -> None:
    stack, x = RecurrentStack(cell, D_IN, D, LAYERS), torch.randn(B, N, D_IN)
    out, last = stack(x, LENGTHS)
    assert out.shape == (B, N, D)
    assert not out.masked_select(~real()).any()
    for b, length in enumerate(LENGTHS.tolist()):
        alone, final = stack(x[b : b + 1, :length])
        assert_close(out[b, :length], alone[0])
        assert_close(tuple(part[b : b + 1] for part in last), final)


@CELLS
def test_a_bidirectional_stack_is_pytorchs_on_packed_sentences(cell: RecurrentCell) -> None:
    ours, x = BidirectionalStack(cell, D_IN, D, LAYERS), torch.randn(B, N, D_IN)
    out, last = ours(x, LENGTHS)
    packed = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    whole, final = theirs(ours, cell)(packed)
    expected, _ = pad_packed_sequence(whole, batch_first=True)
    assert_close(out.where(real(), 0), expected)
    h = (final[0] if cell is LSTM else final).view(LAYERS, 2, B, D)
    assert_close(last, tuple(torch.cat([forward, backward], dim=1) for forward, backward in h))


@CELLS
def test_steps_equal_the_whole_sequence(cell: RecurrentCell) -> None:
    stack = RecurrentStack(cell, D_IN, D, LAYERS)
    x = torch.randn(B, N, D_IN)
    state = tuple(torch.randn(B, D) for _ in range(stack.state_size))
    whole, last = stack(x, state=state)
    for n in range(N):
        out, state = stack.step(x[:, n], state)
        assert_close(out, whole[:, n])
        assert stack.top(state) is out
    assert_close(state, last)


def test_an_elman_network_is_its_equation() -> None:
    stack = RecurrentStack(ELMAN, D_IN, D, 1)
    x, h = torch.randn(1, D_IN), torch.randn(1, D)
    weights = stack.state_dict()
    read = weights["layers.0.weight_ih_l0"] @ x[0] + weights["layers.0.bias_ih_l0"]
    kept = weights["layers.0.weight_hh_l0"] @ h[0] + weights["layers.0.bias_hh_l0"]
    _, (after,) = stack.step(x, (h,))
    assert_close(after[0], (read + kept).tanh())


def test_an_lstm_is_its_equations() -> None:
    stack = RecurrentStack(LSTM, D_IN, D, 1)
    x, h, c = torch.randn(1, D_IN), torch.randn(1, D), torch.randn(1, D)
    weights = stack.state_dict()
    W, U = weights["layers.0.weight_ih_l0"], weights["layers.0.weight_hh_l0"]
    b = weights["layers.0.bias_ih_l0"] + weights["layers.0.bias_hh_l0"]
    i, f, g, o = (W @ x[0] + U @ h[0] + b).split(D)
    new_c = f.sigmoid() * c[0] + i.sigmoid() * g.tanh()
    _, (after_h, after_c) = stack.step(x, (h, c))
    assert_close(after_c[0], new_c)
    assert_close(after_h[0], o.sigmoid() * new_c.tanh())


def test_a_gru_is_its_equations() -> None:
    stack = RecurrentStack(GRU, D_IN, D, 1)
    x, h = torch.randn(1, D_IN), torch.randn(1, D)
    weights = stack.state_dict()
    reads = weights["layers.0.weight_ih_l0"] @ x[0] + weights["layers.0.bias_ih_l0"]
    keeps = weights["layers.0.weight_hh_l0"] @ h[0] + weights["layers.0.bias_hh_l0"]
    (r_x, z_x, n_x), (r_h, z_h, n_h) = reads.split(D), keeps.split(D)
    r, z = (r_x + r_h).sigmoid(), (z_x + z_h).sigmoid()
    n = (n_x + r * n_h).tanh()
    _, (after,) = stack.step(x, (h,))
    assert_close(after[0], (1 - z) * n + z * h[0])


@CELLS
def test_it_is_initialised_as_in_the_papers(cell: RecurrentCell) -> None:
    stack = RecurrentStack(cell, D_IN, D, 1)
    weights = stack.state_dict()
    for gate in weights["layers.0.weight_hh_l0"].split(D):
        assert_close(gate @ gate.T, torch.eye(D))
    biases = weights["layers.0.bias_ih_l0"] + weights["layers.0.bias_hh_l0"]
    forget = biases[D : 2 * D] if cell is LSTM else biases[:0]
    assert forget.eq(1).all()
    assert int(biases.count_nonzero()) == len(forget)


@CELLS
def test_dropout_applies_between_layers_only(cell: RecurrentCell) -> None:
    x = torch.randn(B, N, D_IN)
    one, two = (RecurrentStack(cell, D_IN, D, layers, dropout=0.5) for layers in (1, 2))
    assert torch.equal(one(x, LENGTHS)[0], one(x, LENGTHS)[0])
    for lengths in (None, LENGTHS):
        assert not torch.equal(two(x, lengths)[0], two(x, lengths)[0])
    state = tuple(torch.zeros(B, D) for _ in range(two.state_size))
    assert not torch.equal(two.step(x[:, 0], state)[0], two.step(x[:, 0], state)[0])
    two.eval()
    assert torch.equal(two(x, LENGTHS)[0], two(x, LENGTHS)[0])
    both = BidirectionalStack(cell, D_IN, D, 2, dropout=0.5)
    assert not torch.equal(both(x, LENGTHS)[0], both(x, LENGTHS)[0])
