"""The vanishing gradient: the last output's gradient with respect to the first input, by their distance.

A layer reads a symbol, then n - 1 noise symbols, and must name the first at the end (the memory task of
Hochreiter and Schmidhuber 1997, sec. 5.2, with noise). Measured before and after training: the norm of the
gradient of the right answer's logit with respect to the first input, and how often the answer is right. The
gradient passes n recurrent steps, and each multiplies it by the step's Jacobian (Bengio et al. 1994;
Pascanu et al. 2013); in attention it passes one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor, nn

from multihead.inspect import figures
from multihead.inspect.figures import BLUE, GREEN, INK, ORANGE
from multihead.nn import MultiHeadAttention, SinusoidalPositions, masks
from multihead.nn.parts.cells import ELMAN, GRU, LSTM, RecurrentCell
from multihead.nn.parts.recurrent import RecurrentStack
from multihead.system import randomness

SYMBOLS, NOISE = 8, 8
"""Number of symbols to remember, and of noise symbols."""
BATCH, MEASURED = 64, 256
"""Sequences in an update, and in a measurement."""
RATE, CLIP = 2e-3, 1.0
"""Learning rate of Adam, and the largest norm of a gradient."""
COLOURS = {"rnn": ORANGE, "lstm": BLUE, "gru": GREEN, "attention": INK}


class Recurrence(nn.Module):
    """One recurrent layer; its last output, (B, d)."""

    def __init__(self, cell: RecurrentCell, d: int) -> None:
        super().__init__()
        self.layer = RecurrentStack(cell, d, d, 1)

    def forward(self, x_BNd: Tensor) -> Tensor:
        """(B, N, d) to (B, d)."""
        out_BNd, _ = self.layer(x_BNd)
        last_Bd: Tensor = out_BNd[:, -1]
        return last_Bd


class SymbolAttention(nn.Module):
    """One layer of causal self-attention over symbols with sinusoidal positions; its last output, (B, d)."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.positions, self.attend = SinusoidalPositions(d), MultiHeadAttention(d, 4)

    def forward(self, x_BNd: Tensor) -> Tensor:
        """(B, N, d) to (B, d)."""
        x_BNd = self.positions(x_BNd)
        out_BNd: Tensor = self.attend(x_BNd, x_BNd, masks.causal(x_BNd.shape[1], x_BNd.device))
        return out_BNd[:, -1]


LAYERS: Mapping[str, Callable[[int], nn.Module]] = {
    "rnn": lambda d: Recurrence(ELMAN, d),
    "lstm": lambda d: Recurrence(LSTM, d),
    "gru": lambda d: Recurrence(GRU, d),
    "attention": SymbolAttention,
}
"""Every layer by its name, each made for a width."""


class SymbolModel(nn.Module):
    """A layer between embeddings and an output layer over the symbols.

    Args:
        layer: reads (B, N, d), returns (B, d).
        d: the width.
    """

    def __init__(self, layer: nn.Module, d: int) -> None:
        super().__init__()
        self.embedding, self.layer = nn.Embedding(SYMBOLS + NOISE, d), layer
        self.output = nn.Linear(d, SYMBOLS)

    def forward(self, x_BNd: Tensor) -> Tensor:
        """Logits of the symbols, (B, SYMBOLS), from embedded sequences."""
        logits_BV: Tensor = self.output(self.layer(x_BNd))
        return logits_BV


@dataclass(frozen=True, slots=True)
class Curve:
    """Measurements of one layer, one number for each distance.

    Attributes:
        layer: its name.
        seed: seed of its weights and data.
        untrained: gradient norm at initialisation, relative to the first distance.
        trained: the same after training.
        right: fraction of right answers after training.
    """

    layer: str
    seed: int
    untrained: tuple[float, ...]
    trained: tuple[float, ...]
    right: tuple[float, ...]


def sequences(count: int, distance: int) -> tuple[Tensor, Tensor]:
    """Random sequences of ids, (count, distance + 1), and the symbol that each begins with, (count,)."""
    first_B = torch.randint(SYMBOLS, (count,))
    noise_BN = torch.randint(SYMBOLS, SYMBOLS + NOISE, (count, distance))
    return torch.cat([first_B[:, None], noise_BN], dim=1), first_B


def gradient(model: SymbolModel, distance: int) -> tuple[float, float]:
    """The mean norm of d logit / d first input at a distance, and the fraction of right answers."""
    ids_BN, first_B = sequences(MEASURED, distance)
    x_BNd = model.embedding(ids_BN).detach().requires_grad_()
    logits_BV = model(x_BNd)
    (slope_BNd,) = torch.autograd.grad(logits_BV.gather(1, first_B[:, None]).sum(), x_BNd)
    right = (logits_BV.argmax(dim=1) == first_B).float().mean()
    return slope_BNd[:, 0].norm(dim=1).mean().item(), right.item()


def measure(name: str, seed: int, distances: Sequence[int], *, d: int, updates: int) -> Curve:
    """Train one layer on sequences of all lengths up to the greatest distance, and measure it.

    Args:
        name: name of the layer.
        seed: seed of weights and data.
        distances: distances in steps, ascending.
        d: the width.
        updates: number of updates.
    """

    def measure_at(moment: int) -> tuple[list[float], list[float]]:
        with randomness.at(seed, moment):
            pairs = [gradient(model, distance) for distance in distances]
        return [slope for slope, _ in pairs], [right for _, right in pairs]

    with randomness.at(seed):
        model = SymbolModel(LAYERS[name](d), d)
    untrained, _ = measure_at(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for update in range(1, updates + 1):
        with randomness.at(seed, update):
            ids_BN, first_B = sequences(BATCH, int(torch.randint(1, distances[-1] + 1, ())))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(model.embedding(ids_BN)), first_B)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    trained, right = measure_at(updates + 1)
    return Curve(name, seed, _relative(untrained), _relative(trained), tuple(right))


def _relative(slopes: Sequence[float]) -> tuple[float, ...]:
    return tuple(slope / slopes[0] if slopes[0] else 0.0 for slope in slopes)


def curves(seeds: int, distances: Sequence[int], *, d: int = 64, updates: int = 1000) -> Iterator[Curve]:
    """Yield the measurements of every layer with every seed."""
    for name in LAYERS:
        for seed in range(1, seeds + 1):
            yield measure(name, seed, distances, d=d, updates=updates)


def means(measured: Sequence[Curve], moment: str) -> dict[str, list[float]]:
    """The mean over the seeds of "untrained", "trained" or "right", by layer."""
    return {
        name: [
            fmean(values)
            for values in zip(*(getattr(c, moment) for c in measured if c.layer == name), strict=True)
        ]
        for name in dict.fromkeys(curve.layer for curve in measured)
    }


def draw(measured: Sequence[Curve], distances: Sequence[int], path: Path) -> None:
    """Draw gradients before and after training, and right answers, over the distance.

    Raises:
        UserError: another file extension than .svg, .png or .pdf, or the file cannot be written.
    """
    panels: tuple[tuple[str, str], ...] = (
        ("untrained", "gradient at initialisation"),
        ("trained", "gradient after training"),
        ("right", "right answers after training"),
    )
    with figures.style():
        figure = Figure(figsize=(11, 3.4), facecolor="white", layout="constrained")
        for axes, (moment, title) in zip(figure.subplots(1, 3), panels, strict=True):
            for name, values in means(measured, moment).items():
                axes.plot([*distances], values, marker="o", color=COLOURS[name], label=name)
            axes.set_xscale("log", base=2)
            axes.set_xticks([*distances], [str(distance) for distance in distances])
            if moment == "right":
                axes.axhline(1 / SYMBOLS, color=figures.FAINT, linestyle=":", linewidth=1)
            else:
                axes.set_yscale("log")
            axes.minorticks_off()
            axes.set_title(title, loc="left")
            axes.set_xlabel("distance")
        figure.axes[0].legend()
        figures.save(figure, path)


def as_json(measured: Sequence[Curve], distances: Sequence[int]) -> dict[str, Any]:
    """The measurements, for a file."""
    return {
        "distances": [*distances],
        "chance": 1 / SYMBOLS,
        "layers": [
            {
                "layer": curve.layer,
                "seed": curve.seed,
                "untrained": [_round(slope) for slope in curve.untrained],
                "trained": [_round(slope) for slope in curve.trained],
                "right": [round(share, 4) for share in curve.right],
            }
            for curve in measured
        ],
    }


def _round(value: float) -> float:
    return float(f"{value:.4g}")
