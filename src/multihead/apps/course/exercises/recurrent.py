"""Exercises of chapters 1 to 3: tokens, recurrent networks, sequence to sequence."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from multihead.apps.course.exercises.compare import TOLERANCE, Check, Function, compare
from multihead.apps.course.korean import say


def _pair_counts(function: Function) -> str | None:
    words = {"l o w": 5, "l o w e r": 2, "n e w": 6}
    expected = {("l", "o"): 7, ("o", "w"): 7, ("w", "e"): 2, ("e", "r"): 2, ("n", "e"): 6, ("e", "w"): 6}
    answer = dict(function(words))
    return None if answer == expected else say("for {} it finds {}, not {}", words, answer, expected)


def _merge(function: Function) -> str | None:
    word, pair, expected = "n e w e s t e s t", ("e", "s"), "n e w es t es t"
    if (answer := function(word, pair)) != expected:
        return say("{} with {} becomes {}, not {}", repr(word), pair, repr(answer), repr(expected))
    word, pair = "be e s e e s", ("e", "e")
    answer = function(word, pair)
    fault = say("{} with {} becomes {}: only whole pieces", repr(word), pair, repr(answer))
    return None if answer == "be e s ee s" else fault


def _lookup(function: Function) -> str | None:
    ids, table = torch.tensor([[3, 1, 4], [1, 5, 0]]), torch.randn(7, 5)
    return compare(function(ids, table), table[ids], "ids (2, 3), table (7, 5)")


def _rnn_step(function: Function) -> str | None:
    torch.manual_seed(1)
    cell = nn.RNNCell(5, 7)
    x, h = torch.randn(3, 5), torch.randn(3, 7)
    w, u, b = cell.weight_ih, cell.weight_hh, cell.bias_ih + cell.bias_hh
    with torch.no_grad():
        return compare(function(x, h, w, u, b), cell(x, h), "x (3, 5), h (3, 7)")


def _lstm_step(function: Function) -> str | None:
    torch.manual_seed(1)
    c, gates = torch.randn(3, 7), torch.randn(3, 28)
    i, f, g, o = gates.chunk(4, dim=1)
    cell = f.sigmoid() * c + i.sigmoid() * g.tanh()
    answer = function(gates, c)
    if not isinstance(answer, tuple) or len(answer) != 2:
        return say("return two tensors: the new h and the new c")
    fault = compare(answer[1], cell, say("the new c"))
    return fault or compare(answer[0], o.sigmoid() * cell.tanh(), say("the new h"))


def _clip(function: Function) -> str | None:
    parameters = [nn.Parameter(torch.randn(5, 7)), nn.Parameter(torch.randn(3))]
    for most in (0.5, 1e6):
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        function(parameters, most)
        norm = 38**0.5
        expected = min(1.0, most / norm)
        for parameter in parameters:
            assert parameter.grad is not None
            fault = compare(parameter.grad, torch.full_like(parameter, expected), f"limit {most}")
            if fault is not None:
                return fault
    return None


def _greedy(function: Function) -> str | None:
    def counting(token: int, state: int) -> tuple[Tensor, int]:
        """Writes 2, 3, 4, ..., then the end symbol 0 after 4."""
        scores = torch.zeros(9)
        scores[0 if state == 5 else state] = 1.0
        return scores, state + 1

    for limit, expected in ((7, [2, 3, 4]), (2, [2, 3])):
        answer = list(function(counting, 2, 1, 0, limit))
        if answer != expected:
            return say("with limit {} it writes {}, not {}", limit, answer, expected)
    return None


def _perplexity(function: Function) -> str | None:
    answer = function(torch.tensor([0.5, 0.25, 0.125]).log())
    right = isinstance(answer, float | Tensor) and abs(float(answer) - 4) < TOLERANCE
    return None if right else say("{}: {}, not {}", say("probabilities 1/2, 1/4, 1/8"), answer, 4)


def _mean_loss(function: Function) -> str | None:
    losses = torch.tensor([[1.0, 2.0, 9.0], [3.0, 9.0, 9.0], [1.0, 1.0, 4.0]])
    return compare(function(losses, torch.tensor([2, 1, 3])), torch.tensor(2.0), "lengths 2, 1, 3")


EXERCISES: Mapping[str, Check] = {
    "pair counts": _pair_counts,
    "merge": _merge,
    "lookup": _lookup,
    "rnn step": _rnn_step,
    "lstm step": _lstm_step,
    "clipping": _clip,
    "greedy": _greedy,
    "perplexity": _perplexity,
    "mean loss": _mean_loss,
}
