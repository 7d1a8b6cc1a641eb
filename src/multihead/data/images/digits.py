"""Generated images of digits: a data set that needs neither files nor a network."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from multihead.data.images.random_numbers import Uniform
from multihead.system import randomness

SIZE = 20
"""Height and width of an image in pixels."""

_RING = [(0.5 + 0.28 * np.cos(t), 0.5 + 0.4 * np.sin(t)) for t in np.linspace(0, 2 * np.pi, 13)]
_STROKES: tuple[list[list[tuple[float, float]]], ...] = (
    [_RING],
    [[(0.32, 0.28), (0.55, 0.1), (0.55, 0.9)]],
    [[(0.25, 0.28), (0.35, 0.13), (0.6, 0.1), (0.75, 0.28), (0.68, 0.48), (0.22, 0.9), (0.8, 0.9)]],
    [[(0.25, 0.15), (0.6, 0.1), (0.74, 0.28), (0.5, 0.47), (0.76, 0.68), (0.6, 0.9), (0.22, 0.84)]],
    [[(0.6, 0.9), (0.6, 0.1), (0.2, 0.65), (0.82, 0.65)]],
    [[(0.74, 0.1), (0.3, 0.1), (0.26, 0.45), (0.6, 0.42), (0.76, 0.65), (0.58, 0.9), (0.22, 0.84)]],
    [[(0.66, 0.1), (0.36, 0.35), (0.25, 0.7), (0.45, 0.9), (0.72, 0.75), (0.6, 0.52), (0.28, 0.62)]],
    [[(0.22, 0.1), (0.78, 0.1), (0.42, 0.9)]],
    [
        [(0.5, 0.48), (0.28, 0.3), (0.5, 0.1), (0.72, 0.3), (0.5, 0.48)],
        [(0.5, 0.48), (0.24, 0.7), (0.5, 0.9), (0.76, 0.7), (0.5, 0.48)],
    ],
    [[(0.72, 0.38), (0.4, 0.48), (0.28, 0.25), (0.5, 0.1), (0.72, 0.25), (0.72, 0.5), (0.6, 0.9)]],
)
"""Each digit as polylines of points (x, y) in the unit square, y downwards."""

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def draw_digits(count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images of digits, (count, SIZE, SIZE), bright on dark, and their classes, (count,).

    Position, rotation, slant, scale, stroke points, pen width and background noise are random.
    """
    uniform = Uniform(randomness.derive(seed, "digits"))
    labels_N = np.arange(count) % len(_STROKES)
    images = [_draw(_STROKES[label], uniform) for label in labels_N]
    return np.stack(images), labels_N.astype(np.int64)


def _draw(strokes: list[list[tuple[float, float]]], uniform: Uniform) -> NDArray[np.uint8]:
    turn, slant = uniform.between(-0.25, 0.25, 2)
    width, height = uniform.between(0.75, 1.0, 2)
    moved = uniform.between(-0.1, 0.1, 2)
    pen = uniform.between(0.045, 0.085, 1)[0]
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    matrix = matrix @ np.array([[width, slant], [0.0, height]])
    ink = np.zeros((SIZE, SIZE))
    for stroke in strokes:
        points = np.array(stroke) - 0.5
        points = (points + uniform.between(-0.03, 0.03, len(points), 2)) @ matrix.T + 0.5 + moved
        for start, end in pairwise(points):
            ink = np.maximum(ink, (pen + 0.5 / SIZE - _distance(start, end)) * SIZE)
    paper = uniform.between(0.0, 0.25, SIZE, SIZE)
    shade = np.maximum(ink.clip(0, 1) * uniform.between(0.7, 1.0, 1), paper)
    return (shade * 255).round().astype(np.uint8)


_CENTRES = (np.stack(np.meshgrid(np.arange(SIZE), np.arange(SIZE)), axis=-1) + 0.5) / SIZE


def _distance(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each pixel to the segment from start to end, (SIZE, SIZE)."""
    along = end - start
    part = ((_CENTRES - start) @ along / max(float(along @ along), 1e-12)).clip(0, 1)
    gap: NDArray[np.float64] = np.linalg.norm(_CENTRES - start - part[..., None] * along, axis=-1)
    return gap
