"""Generated images of captioned shapes: 9,216 captions, each with its image.

"a large green circle at the top left": 4 sizes, 16 colours, 16 shapes, 9 positions. The caption omits the
centre.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

SIZE = 32
"""Height and width of an image in pixels."""

SIZES = {"tiny": 2.5, "small": 4.0, "medium": 5.5, "large": 7.5}
"""Half the height of a shape in pixels."""

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (220, 30, 40),
    "green": (30, 150, 60),
    "blue": (40, 70, 210),
    "yellow": (245, 215, 40),
    "orange": (245, 135, 30),
    "purple": (130, 50, 160),
    "pink": (250, 150, 190),
    "brown": (125, 75, 35),
    "black": (15, 15, 15),
    "grey": (135, 135, 135),
    "cyan": (40, 200, 215),
    "magenta": (215, 40, 165),
    "lime": (160, 220, 50),
    "navy": (20, 25, 95),
    "teal": (20, 120, 120),
    "beige": (225, 205, 165),
}

PLACES: dict[str, tuple[int, int]] = {
    " at the top left": (8, 8),
    " at the top": (16, 8),
    " at the top right": (24, 8),
    " at the left": (8, 16),
    "": (16, 16),
    " at the right": (24, 16),
    " at the bottom left": (8, 24),
    " at the bottom": (16, 24),
    " at the bottom right": (24, 24),
}
"""Centre of a shape, (x, y)."""

Plane = NDArray[np.float64]


def _polygon(corners: int, turn: float) -> Callable[[Plane, Plane], NDArray[np.bool_]]:
    def inside(x: Plane, y: Plane) -> NDArray[np.bool_]:
        angles = turn + 2 * np.pi * np.arange(corners) / corners
        reach = np.cos(np.pi / corners)
        sides = [x * np.sin(angle) - y * np.cos(angle) <= reach for angle in angles]
        whole: NDArray[np.bool_] = np.logical_and.reduce(sides)
        return whole

    return inside


def _star(x: Plane, y: Plane) -> NDArray[np.bool_]:
    angle, radius = np.arctan2(x, -y), np.hypot(x, y)
    part = np.abs((angle / (2 * np.pi / 5) + 0.5) % 1 - 0.5) * 2  # 0 at a tip, 1 between two
    return radius <= 1.0 / (1 + 1.6 * part)


def _heart(x: Plane, y: Plane) -> NDArray[np.bool_]:
    u, v = 1.25 * x, -1.25 * y + 0.2
    return (u**2 + v**2 - 1) ** 3 - u**2 * v**3 <= 0


SHAPES: dict[str, Callable[[Plane, Plane], NDArray[np.bool_]]] = {
    "circle": lambda x, y: np.hypot(x, y) <= 1,
    "square": lambda x, y: np.maximum(abs(x), abs(y)) <= 0.9,
    "triangle": lambda x, y: (y <= 0.9) & (2 * abs(x) <= y + 0.9),
    "diamond": lambda x, y: abs(x) + abs(y) <= 1,
    "cross": lambda x, y: (np.minimum(abs(x), abs(y)) <= 0.33) & (np.maximum(abs(x), abs(y)) <= 1),
    "star": _star,
    "ring": lambda x, y: (np.hypot(x, y) <= 1) & (np.hypot(x, y) >= 0.55),
    "frame": lambda x, y: (np.maximum(abs(x), abs(y)) <= 0.95) & (np.maximum(abs(x), abs(y)) >= 0.55),
    "heart": _heart,
    "hexagon": _polygon(6, 0.0),
    "pentagon": _polygon(5, np.pi),
    "moon": lambda x, y: (np.hypot(x, y) <= 1) & (np.hypot(x - 0.5, y) >= 0.8),
    "bowl": lambda x, y: (np.hypot(x, y + 0.4) <= 1) & (y >= -0.4),
    "bar": lambda x, y: (abs(x) <= 1) & (abs(y) <= 0.35),
    "pillar": lambda x, y: (abs(x) <= 0.35) & (abs(y) <= 1),
    "arrow": lambda x, y: ((y <= 0.1) & (abs(x) <= y + 1)) | ((abs(x) <= 0.33) & (y > 0) & (y <= 1)),
}
"""Predicates for points inside a shape that extends from about -1 to 1; y downwards."""

FINE = 4
"""Samples per pixel in each direction, for antialiasing."""


def captions() -> list[str]:
    """Return all captions, in a fixed order."""
    return [f"a {size} {colour} {shape}{place}" for size, colour, shape, place in _kinds()]


def _kinds() -> list[tuple[str, str, str, str]]:
    return list(product(SIZES, COLOURS, SHAPES, PLACES))


def draw_shapes() -> tuple[NDArray[np.uint8], list[str]]:
    """Return images on white, (9216, 3, SIZE, SIZE), and their captions."""
    covers = {key: _cover(*key) for key in product(SIZES, SHAPES, PLACES)}
    images = [_colour(covers[size, shape, place], COLOURS[colour]) for size, colour, shape, place in _kinds()]
    return np.stack(images), captions()


def _cover(size: str, shape: str, place: str) -> Plane:
    """Return the fraction of each pixel that the shape covers, (SIZE, SIZE)."""
    points = (np.arange(SIZE * FINE) + 0.5) / FINE
    x, y = ((points - middle) / SIZES[size] for middle in PLACES[place])
    inside = SHAPES[shape](*np.broadcast_arrays(x[None, :], y[:, None]))
    cover: Plane = inside.reshape(SIZE, FINE, SIZE, FINE).mean(axis=(1, 3))
    return cover


def _colour(cover: Plane, colour: tuple[int, int, int]) -> NDArray[np.uint8]:
    shade = np.array(colour, dtype=np.float64)[:, None, None]
    return (255 + cover * (shade - 255)).round().astype(np.uint8)
