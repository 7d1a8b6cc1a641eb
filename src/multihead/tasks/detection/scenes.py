"""Generated scenes of one to several overlapping objects, each with its class and box.

A scene is a function of (seed, number): training never sees one twice, and a seed defines a test set.
An object's box encloses its visible part, as in COCO; at least a third of each object is visible.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multihead.data.images.random_numbers import Uniform
from multihead.data.images.shapes import SHAPES
from multihead.system import randomness

NAMES = ("circle", "square", "triangle", "cross", "star", "ring", "heart", "moon")
"""Shapes that stay distinct at any size and rotation."""
SMALLEST, LARGEST = 0.16, 0.46
"""Width and height of an object, as fractions of the image."""
VISIBLE = 1 / 3
"""Minimum fraction of an object that later objects leave visible."""
TRIES = 12
"""Places tried for an object before it is left out."""
FINE = 2
"""Samples per pixel in each direction, for antialiasing."""

Plane = NDArray[np.float64]


class Scene(NamedTuple):
    """An image and its objects.

    Attributes:
        pixels_Chw: (3, size, size), uint8.
        boxes_M4: left, top, right and bottom edge of each object in pixels.
        classes_M: their classes.
    """

    pixels_Chw: NDArray[np.uint8]
    boxes_M4: NDArray[np.float32]
    classes_M: NDArray[np.int64]


class Stencils(Protocol):
    """Source of the objects in scenes."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the classes."""
        ...

    def cut(self, kind: int, width: int, height: int, uniform: Uniform) -> tuple[Plane, Plane]:
        """Return the opacity and the brightness of an object of a class, (height, width), from 0 to 1."""
        ...


@dataclass(frozen=True)
class ShapeStencils:
    """Coloured shapes, slightly rotated."""

    names: tuple[str, ...] = NAMES

    def cut(self, kind: int, width: int, height: int, uniform: Uniform) -> tuple[Plane, Plane]:
        """See ``Stencils``."""
        x, y = np.meshgrid(_line(width), _line(height))
        turn = uniform.number(-0.3, 0.3)
        rotated = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
        reach = 1 + abs(np.sin(turn)) * 0.35  # the corners stay in the window
        inside = SHAPES[self.names[kind]](rotated[0] * reach, rotated[1] * reach)
        alpha: Plane = inside.reshape(height, FINE, width, FINE).mean(axis=(1, 3))
        return alpha, np.ones_like(alpha)


@lru_cache(maxsize=256)
def _line(length: int) -> Plane:
    return (np.arange(length * FINE) + 0.5) / (length * FINE) * 2 - 1


@dataclass(frozen=True, eq=False)
class ImageStencils:
    """Objects cut out of greyscale images on black, such as the garments of Fashion-MNIST.

    Attributes:
        pixels: the images, (N, height, width).
        labels: their classes, (N,).
        names: names of the classes.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    names: tuple[str, ...]

    def cut(self, kind: int, width: int, height: int, uniform: Uniform) -> tuple[Plane, Plane]:
        """See ``Stencils``; picks a random image of the class."""
        rows = np.flatnonzero(self.labels == kind)
        image = self.pixels[rows[uniform.below(len(rows))]]
        scaled = Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR)
        values = np.asarray(scaled, dtype=np.float64) / 255
        return (values * 6).clip(0, 1), 0.25 + 0.75 * values


@dataclass(frozen=True)
class SceneMaker:
    """Makes scenes.

    Attributes:
        stencils: the objects.
        size: height and width of a scene, in pixels.
        most: maximum number of objects; the numbers 1 to ``most`` are equally frequent.
        seed: seeds all scenes.
    """

    stencils: Stencils
    size: int = 96
    most: int = 8
    seed: int = 1

    def scene(self, number: int) -> Scene:
        """Return the scene with this number; a function of (seed, number)."""
        uniform = Uniform(randomness.derive(self.seed, "scene", number))
        canvas = _background(self.size, uniform)
        owner = np.full((self.size, self.size), -1)
        kinds: list[int] = []
        areas: list[int] = []
        for _ in range(1 + uniform.below(self.most)):
            kind = uniform.below(len(self.stencils.names))
            stencil = self._stencil(kind, uniform)
            visible = np.bincount(owner.ravel() + 1, minlength=len(kinds) + 1)[1:]
            for _ in range(TRIES):
                window = self._place(stencil, uniform)
                hidden = np.bincount(owner[window][stencil.solid] + 1, minlength=len(kinds) + 1)[1:]
                if (visible - hidden >= VISIBLE * np.array(areas)).all():
                    break
            else:
                continue
            owner[window][stencil.solid] = len(kinds)
            kinds.append(kind)
            areas.append(int(stencil.solid.sum()))
            _paint(canvas[(slice(None), *window)], stencil, uniform)
        noise = uniform.between(-0.03, 0.03, self.size, self.size)
        pixels = ((canvas + noise).clip(0, 1) * 255).round().astype(np.uint8)
        boxes = [_extent(owner == number) for number in range(len(kinds))]
        return Scene(
            pixels, np.array(boxes, dtype=np.float32).reshape(-1, 4), np.array(kinds, dtype=np.int64)
        )

    def _stencil(self, kind: int, uniform: Uniform) -> "_Stencil":
        side = np.exp(uniform.number(np.log(SMALLEST), np.log(LARGEST))) * self.size
        aspect = np.sqrt(uniform.number(0.7, 1.4))
        width, height = (max(4, round(float(length))) for length in (side * aspect, side / aspect))
        alpha, brightness = self.stencils.cut(kind, min(width, self.size), min(height, self.size), uniform)
        return _Stencil(alpha, brightness, alpha > 0.5)

    def _place(self, stencil: "_Stencil", uniform: Uniform) -> tuple[slice, slice]:
        """Return random rows and columns for an object, inside the scene."""
        height, width = stencil.alpha.shape
        left, top = uniform.below(self.size - width + 1), uniform.below(self.size - height + 1)
        return slice(top, top + height), slice(left, left + width)


class _Stencil(NamedTuple):
    """An object before it is placed; ``solid`` are its pixels."""

    alpha: Plane
    brightness: Plane
    solid: NDArray[np.bool_]


def _background(size: int, uniform: Uniform) -> Plane:
    """Return a colour gradient with coarse noise, (3, size, size), from 0 to 1."""
    corners = uniform.between(0.2, 0.8, 3, 2, 2) * 0.5 + uniform.number(0.1, 0.4)
    line = np.linspace(0, 1, size)
    rows = corners[:, :1] * (1 - line)[None, :, None] + corners[:, 1:] * line[None, :, None]
    smooth: Plane = rows[..., :1] * (1 - line) + rows[..., 1:] * line
    cells = -(-size // 8)
    coarse = uniform.between(-0.05, 0.05, cells, cells).repeat(8, axis=0).repeat(8, axis=1)
    return smooth + coarse[:size, :size]


def _paint(window: Plane, stencil: _Stencil, uniform: Uniform) -> None:
    """Paint an object in a colour that differs from its background."""
    below = window.mean(axis=(1, 2))
    colours = uniform.between(0, 1, 4, 3)
    colour = colours[abs(colours - below).sum(axis=1).argmax()]
    shaded = colour[:, None, None] * stencil.brightness
    window += stencil.alpha * (shaded - window)


def _extent(mask: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Return the edges of the smallest box around the true pixels: left, top, right, bottom."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
