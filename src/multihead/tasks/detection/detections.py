"""Figures of detected objects: boxes over an image, and the attention of the queries that found them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from multihead.inspect import figures
from multihead.inspect.figures import visible
from multihead.tasks.detection.detector import DetectedObject

COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#000000")
"""A palette that is safe for colour-blind readers (Okabe and Ito 2008), by class."""
WIDTH = 6.0
"""Width of an image with boxes, in inches."""
LABEL = (0.13, 0.03)
"""Width and height of a label, as fractions of the image's width."""
PANEL, ACROSS = 1.7, 5
"""Width of a panel in inches, and panels in a row."""
OPACITY = 0.65
LARGEST_RATIO = 10.0
"""Longer side of an image in terms of the shorter one; longer images are compressed to it in figures."""


@dataclass(frozen=True, slots=True)
class QueryMap:
    """An object, and the attention of its query to the image, (rows, columns)."""

    detection: DetectedObject
    query: int
    weights_rc: NDArray[np.float32]


def draw_boxes(
    image: Image.Image, objects: Sequence[DetectedObject], names: Sequence[str], path: str | Path
) -> None:
    """Draw the boxes, classes and scores of objects over an image.

    Raises:
        UserError: a file extension other than .svg, .png or .pdf; the file cannot be written.
    """
    text = " ".join(detection.name for detection in objects)
    height = WIDTH * _ratio(image)
    with figures.style(text, text_as_text=True):
        figure = Figure(figsize=(WIDTH, height), facecolor="white")
        axes = figure.subplots()
        figure.subplots_adjust(0, 0, 1, 1)
        _show(axes, image)
        for detection in objects:
            label = f"{visible(detection.name, 20)} {detection.score:.2f}"
            _box(axes, detection, names, label)
        figures.save(figure, path, text=text)


def draw_queries(
    image: Image.Image, maps: Sequence[QueryMap], names: Sequence[str], caption: str, path: str | Path
) -> None:
    """Draw a panel for each object: the image, its box, and the attention of its query.

    Raises:
        UserError: a file extension other than .svg, .png or .pdf; the file cannot be written.
    """
    rows = max(1, -(-len(maps) // ACROSS))
    text = caption + " ".join(query_map.detection.name for query_map in maps)
    tall = PANEL * _ratio(image)
    with figures.style(text, text_as_text=True):
        figure = Figure(figsize=(ACROSS * PANEL, rows * (tall + 0.3)), facecolor="white")
        grid = figure.subplots(rows, ACROSS, squeeze=False)
        figure.subplots_adjust(0, 0, 1, 1, wspace=0.06, hspace=0.25)
        for place, axes in enumerate(grid.flat):
            if place >= max(1, len(maps)):
                axes.set_axis_off()
                continue
            _show(axes, image)
            if maps:
                _overlay(axes, image, maps[place], names)
        figures.annotate_below(grid[-1][0], caption, distance=8)
        figures.save(figure, path, text=text, tight=True)


def _ratio(image: Image.Image) -> float:
    """Return the height of an image's figure in terms of its width."""
    return min(max(image.height / image.width, 1 / LARGEST_RATIO), LARGEST_RATIO)


def _overlay(axes: Axes, image: Image.Image, query_map: QueryMap, names: Sequence[str]) -> None:
    detection = query_map.detection
    axes.imshow(
        query_map.weights_rc, cmap="inferno", vmin=0, alpha=OPACITY, interpolation="nearest",
        extent=(0, image.width, image.height, 0),
    )  # fmt: skip
    _box(axes, detection, names)
    title = f"{visible(detection.name, 14)} {detection.score:.2f} (query {query_map.query + 1})"
    axes.set_title(title, fontsize=7, pad=3, parse_math=False)


def _show(axes: Axes, image: Image.Image) -> None:
    extent = (0, image.width, image.height, 0)
    axes.imshow(np.asarray(image.convert("RGB")), interpolation="nearest", extent=extent)
    axes.set(xticks=[], yticks=[], xlim=(0, image.width), ylim=(image.height, 0))
    if _ratio(image) != image.height / image.width:
        axes.set_aspect("auto")
    axes.grid(visible=False)
    axes.spines[:].set(visible=False)


def _box(axes: Axes, detection: DetectedObject, names: Sequence[str], label: str = "") -> None:
    left, top, right, bottom = detection.box
    number = list(names).index(detection.name) if detection.name in names else 0
    colour = COLOURS[number % len(COLOURS)]
    axes.add_patch(
        Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=colour, linewidth=1.6)
    )
    if label:
        # Above the box, or in it at the upper edge of the image; to its left at the right edge.
        width, height = axes.get_xlim()[1], axes.get_ylim()[0]
        inside, ends_here = top < LABEL[1] * width, left > width - LABEL[0] * width
        axes.text(
            right if ends_here else left, max(top, 0.01 * height) if inside else top, label,
            fontsize=7, color="white", parse_math=False, clip_on=True,
            ha="right" if ends_here else "left", va="top" if inside else "bottom",
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
