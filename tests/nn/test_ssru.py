"""The SSRU: its equation step by step, the scan against it, and its state in search."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from multihead.batch import PairBatch, Source
from multihead.models.transformer import Settings, Transformer
from multihead.nn.kernels.linear_scan import linear_scan
from multihead.nn.parts.ssru import SSRU

B, T, D = 3, 13, 7
BEGIN, VOCABULARY = 2, 41


def by_the_book(cell: SSRU, x_BTd: Tensor) -> Tensor:
    """The equation, one position after the other."""
    c_Bd, outputs = torch.zeros_like(x_BTd[:, 0]), []
    for x_Bd in x_BTd.unbind(1):
        f_Bd = torch.sigmoid(x_Bd @ cell.w_f.weight.T + cell.w_f.bias)
        c_Bd = f_Bd * c_Bd + (1 - f_Bd) * (x_Bd @ cell.w.weight.T)
        outputs.append(c_Bd.clamp_min(0))
    return torch.stack(outputs, 1)


def cell_and_input() -> tuple[SSRU, Tensor]:
    torch.manual_seed(5)
    return SSRU(D).double(), torch.randn(B, T, D, dtype=torch.float64)


def test_the_parallel_form_is_the_equation_step_by_step() -> None:
    cell, x_BTd = cell_and_input()
    assert_close(cell(x_BTd), by_the_book(cell, x_BTd), rtol=1e-12, atol=1e-12)


def test_the_parallel_form_has_the_gradients_of_the_equation() -> None:
    cell, x_BTd = cell_and_input()
    weight_BTd = torch.randn_like(x_BTd)
    inputs = [x_BTd.requires_grad_(), *cell.parameters()]
    ours = torch.autograd.grad((cell(x_BTd) * weight_BTd).sum(), inputs)
    theirs = torch.autograd.grad((by_the_book(cell, x_BTd) * weight_BTd).sum(), inputs)
    assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("steps", [1, 2, 3, 31, 64])
def test_the_scan_is_the_recurrence_at_every_length(steps: int) -> None:
    torch.manual_seed(6)
    forget, added = (
        torch.rand(2, steps, 3, dtype=torch.float64),
        torch.randn(2, steps, 3, dtype=torch.float64),
    )
    states = [torch.zeros(2, 3, dtype=torch.float64)]
    for t in range(steps):
        states.append(forget[:, t] * states[-1] + added[:, t])
    assert_close(linear_scan(forget, added), torch.stack(states[1:], 1), rtol=1e-12, atol=1e-12)
    forget.requires_grad_()
    assert torch.autograd.gradcheck(linear_scan, (forget, added.requires_grad_()))


def test_the_scan_survives_gates_that_forget_everything() -> None:
    added = torch.randn(2, 17, 3)
    assert_close(linear_scan(torch.zeros_like(added), added), added, rtol=0, atol=0)


def student(**given: object) -> Transformer:
    torch.manual_seed(7)
    sizes = {
        "source_vocab": VOCABULARY,
        "target_vocab": VOCABULARY,
        "d_model": 24,
        "d_ff": 37,
        "num_heads": 4,
    }
    options = {"num_layers": 2, "decoder_cell": "ssru", "first_input": "zero", "output_bias": True}
    return Transformer(Settings.model_validate({**sizes, **options, **given})).double().eval()


def source(*lengths: int) -> Source:
    ids_BS = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)))
    return Source(ids_BS, torch.tensor(lengths))


def test_steps_give_the_logits_of_the_whole_sequence() -> None:
    model, read = student(), source(5, 3)
    target_BT = torch.cat([torch.full((2, 1), BEGIN), torch.randint(4, VOCABULARY, (2, 10))], 1)
    expected = model(read.ids_BS, target_BT, read.lengths_B)
    state = model.start(read, [[BEGIN], [BEGIN]])
    for t in range(target_BT.shape[1]):
        logits, state = model.step(target_BT[:, t], state)
        assert_close(logits, expected[:, t], rtol=1e-9, atol=1e-9)


def test_prefixes_of_different_lengths_do_not_disturb_each_other() -> None:
    model, read = student(), source(5, 3)
    prefixes = [[BEGIN, 7, 9, 11, 13], [BEGIN, 8]]
    state = model.start(read, prefixes)
    together, state = model.step(torch.tensor([13, 8]), state)
    following, _ = model.step(torch.tensor([5, 6]), state)
    for row, prefix in enumerate(prefixes):
        length = int(read.lengths_B[row])
        alone = Source(read.ids_BS[row : row + 1, :length], read.lengths_B[row : row + 1])
        logits, state = model.step(torch.tensor(prefix[-1:]), model.start(alone, [prefix]))
        assert_close(together[row], logits[0], rtol=1e-9, atol=1e-9)
        logits, _ = model.step(torch.tensor([5 + row]), state)
        assert_close(following[row], logits[0], rtol=1e-9, atol=1e-9)


def test_hypotheses_keep_their_own_states() -> None:
    model, read = student(), source(5, 3)
    _, state = model.step(torch.tensor([BEGIN, BEGIN]), model.start(read, [[BEGIN], [BEGIN]]))
    _, state = model.step(torch.tensor([7, 8, 9, 10]), state.select(torch.tensor([0, 0, 1, 1])))
    state = state.select(torch.tensor([1, 0, 3, 3])).keep(torch.tensor([1]))
    logits, _ = model.step(torch.tensor([11, 12]), state)
    for row, last in enumerate((11, 12)):
        target_BT = torch.tensor([[BEGIN, 10, last]])
        expected = model(read.ids_BS[1:, :3], target_BT, read.lengths_B[1:])
        assert_close(logits[row], expected[0, -1], rtol=1e-9, atol=1e-9)


def test_the_first_input_does_not_depend_on_the_begin_symbol_if_it_is_zero() -> None:
    read = source(5, 3)
    targets = [torch.tensor([[first, 7, 9]] * 2) for first in (BEGIN, 17)]
    for first_input, equal in (("zero", True), ("begin", False)):
        model = student(first_input=first_input)
        one, other = (model(read.ids_BS, target_BT, read.lengths_B) for target_BT in targets)
        assert torch.equal(one, other) is equal


def test_a_student_learns_by_its_loss() -> None:
    model = student().float().train()
    read = source(5, 3)
    target_BT = torch.cat([torch.full((2, 1), BEGIN), torch.randint(4, VOCABULARY, (2, 6))], 1)
    batch = PairBatch(read, target_BT, torch.tensor([6, 6]), 12)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for step in range(60):
        terms = model.loss(batch, step)
        loss = terms["loss"].sum / 12
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 2
