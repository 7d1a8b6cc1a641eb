"""Exercises of chapters 7 to 10: positions, the Transformer, search."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from multihead.apps.course.exercises.compare import TOLERANCE, Check, Function, compare
from multihead.apps.course.korean import say
from multihead.nn.feed_forward import FeedForward
from multihead.nn.layers import EncoderLayer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.positions import sinusoids
from multihead.nn.residual import PostNorm


def _positions(function: Function) -> str | None:
    return compare(function(11, 8), sinusoids(11, 8), say("{} positions, {} dimensions", 11, 8))


def _shift(function: Function) -> str | None:
    """A rotation that moves the encoding of any position by k (Vaswani et al. 2017, sec. 3.5)."""
    table = sinusoids(23, 8)
    for k in (1, 5):
        if (fault := compare(table[:-k] @ function(k, 8).mT, table[k:], f"k = {k}")) is not None:
            return fault
    return None


def _relative(function: Function) -> str | None:
    places = torch.arange(5)
    expected = (places - places[:, None]).clamp(-2, 2) + 2
    return compare(function(5, 2), expected, say("5 positions, clipped at 2"))


def _encoder_layer(function: Function) -> str | None:
    from_package = _layer()
    x = torch.randn(2, 5, 12)
    with torch.no_grad():
        expected = from_package(x)
        return compare(function(x, from_package), expected, "x (2, 5, 12)")


def _layer() -> EncoderLayer:
    torch.manual_seed(1)
    return EncoderLayer(MultiHeadAttention(12, 3), FeedForward(12, 31), lambda: PostNorm(12, 0.0)).eval()


def _check_shift(function: Function) -> str | None:
    target = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    expected = torch.tensor([[2, 5, 6, 7], [2, 8, 3, 0]])
    answer = function(target, 2)
    same = isinstance(answer, Tensor) and answer.shape == expected.shape and bool((answer == expected).all())
    return None if same else say("the decoder's input is not the target moved right behind the begin symbol")


def _parameters(function: Function) -> str | None:
    layer = _layer()
    expected = sum(parameter.numel() for parameter in layer.parameters())
    answer = function(12, 31)
    return None if answer == expected else say("{}: {}, not {}", "d_model 12, d_ff 31", answer, expected)


def _beam_step(function: Function) -> str | None:
    totals = torch.tensor([-1.0, -1.5, -9.0])
    scores = torch.tensor([[-3.0, -0.5, -2.0, -4.0], [-0.2, -6.0, -7.0, -8.0], [-0.1, -0.1, -0.1, -0.1]])
    answer = [tuple(pair) for pair in function(totals, scores)]
    expected = [(0, 1), (1, 0), (0, 2)]
    return None if answer == expected else say("it keeps {}, not {}", answer, expected)


def _length_penalty(function: Function) -> str | None:
    for log_probability, length, alpha in ((-3.0, 7, 0.6), (-3.0, 1, 0.6), (-4.0, 13, 0.0)):
        answer = function(log_probability, length, alpha)
        expected = log_probability / ((5 + length) / 6) ** alpha
        if not isinstance(answer, float | int) or abs(answer - expected) > TOLERANCE:
            arguments = say("log-probability {}, {} tokens, alpha {}", log_probability, length, alpha)
            return say("{}: {}, not {}", arguments, answer, f"{expected:.3f}")
    return None


def _temperature(function: Function) -> str | None:
    scores = torch.tensor([1.0, 3.0, 2.0])
    for tau in (1.0, 0.5, 2.0):
        if (fault := compare(function(scores, tau), (scores / tau).softmax(-1), f"tau {tau}")) is not None:
            return fault
    return compare(function(scores, 0), torch.tensor([0.0, 1.0, 0.0]), "tau 0")


def _label_smoothing(function: Function) -> str | None:
    torch.manual_seed(1)
    logits, right = torch.randn(5, 7), torch.tensor([0, 3, 6, 3, 1])
    for epsilon in (0.0, 0.1):
        expected = nn.functional.cross_entropy(logits, right, label_smoothing=epsilon)
        if (fault := compare(function(logits, right, epsilon), expected, f"epsilon {epsilon}")) is not None:
            return fault
    return None


def _learning_rate(function: Function) -> str | None:
    for step, expected in (
        (1, 512**-0.5 * 4000**-1.5),
        (4000, 512**-0.5 * 4000**-0.5),
        (16_000, 512**-0.5 / 126.491),
    ):
        answer = function(step, 512, 4000)
        if not isinstance(answer, float) or abs(answer / expected - 1) > 1e-3:
            return say("{}: {}, not {}", f"step {step}, d_model 512, warmup 4000", answer, f"{expected:.3e}")
    return None


def _ngrams(function: Function) -> str | None:
    output, reference = (
        ["the", "cat", "the", "cat", "sat", "on", "the", "mat"],
        ["the", "cat", "sat", "on", "the", "mat", "today"],
    )
    for n, expected in ((1, (6, 8)), (2, (5, 7)), (4, (3, 5))):
        answer = tuple(function(output, reference, n))
        if answer != expected:
            arguments = f"{' '.join(output)!r}, {' '.join(reference)!r}, n = {n}"
            return say("{}: {}, not {}", arguments, answer, expected)
    return None


EXERCISES: Mapping[str, Check] = {
    "positions": _positions,
    "shift": _shift,
    "relative positions": _relative,
    "encoder layer": _encoder_layer,
    "decoder input": _check_shift,
    "parameters": _parameters,
    "label smoothing": _label_smoothing,
    "learning rate": _learning_rate,
    "n-grams": _ngrams,
    "beam step": _beam_step,
    "length penalty": _length_penalty,
    "temperature": _temperature,
}
