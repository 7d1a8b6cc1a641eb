"""Figures of the course: weights as a heat map, curves on one pair of axes, images in rows."""

import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from torch import Tensor

from multihead.apps.course.transformer_figure import SvgFigure
from multihead.inspect import figures

Labels = Sequence[str]
Boxes = Sequence[tuple[int, Sequence[float]]]
"""Boxes of an image: class, and left, top, right and bottom edge as fractions of the image."""
COLOURS = (figures.BLUE, figures.ORANGE, figures.GREEN, "#cc79a7", "#56b4e9")
MARKERS, LINES = "osD^v", ("-", "--", "-.", ":", "-")
WIDEST = 6.6
"""Inches: a wider figure would be reduced in a chapter, and its labels with it."""


def heatmap(
    weights: Tensor, rows: Labels = (), columns: Labels = (), *, title: str = "", numbers: bool = False
) -> SvgFigure:
    """Return a heat map of a matrix, (rows, columns); with ``numbers`` each cell shows its value."""
    wide, high = (0.55, 0.45) if numbers else (0.36, 0.34)

    def draw(figure: Figure) -> None:
        _map(figure.add_subplot(), weights, rows, columns, title, numbers=numbers)

    size = (1.6 + wide * weights.shape[1], 1.0 + high * weights.shape[0])
    return _drawing(size, draw, title, [*rows, *columns])


def heads(
    weights_HQK: Tensor, rows: Labels = (), columns: Labels = (), *, title: str | Labels = "head"
) -> SvgFigure:
    """Return a heat map for each head, (heads, rows, columns), side by side while labels stay readable.

    ``title`` stands above each map with its number, or is a list of titles.
    """
    titles = [f"{title} {head + 1}" for head in range(len(weights_HQK))] if isinstance(title, str) else title
    H, Q, K = weights_HQK.shape
    width = 0.8 + 0.25 * K
    across = max(1, min(H, int(WIDEST / width)))

    def draw(figure: Figure) -> None:
        for head in range(H):
            axes = figure.add_subplot(-(-H // across), across, head + 1)
            _map(axes, weights_HQK[head], rows, columns, titles[head])

    size = (across * width, -(-H // across) * (1.1 + 0.25 * Q))
    return _drawing(size, draw, ", ".join(titles), [*rows, *columns])


def images(
    images_NChw: Tensor,
    titles: Labels = (),
    *,
    columns: int = 8,
    overlay_Nrc: Tensor | None = None,
    boxes: Sequence[Boxes] = (),
    names: Labels = (),
) -> SvgFigure:
    """Return images in rows; pixels from 0 to 1, (images, 1 or 3, height, width).

    Args:
        images_NChw: the images.
        titles: a title above each image.
        columns: images per row.
        overlay_Nrc: weights of patches, (images, rows, columns), drawn over each image in orange.
        boxes: boxes drawn into each image, a colour for each class.
        names: names of the classes of the boxes.
    """
    N, _, height, width = images_NChw.shape
    columns = min(columns, N)
    rows = -(-N // columns)
    lines = max((title.count("\n") + 1 for title in titles), default=0)

    def draw(figure: Figure) -> None:
        for number, image in enumerate(images_NChw.detach().float().clamp(0, 1)):
            axes = figure.add_subplot(rows, columns, number + 1)
            extent = (0.0, float(width), float(height), 0.0)
            axes.imshow(image.expand(3, -1, -1).permute(1, 2, 0).numpy(), extent=extent, interpolation="none")
            if overlay_Nrc is not None:
                weights = overlay_Nrc[number].detach().float().numpy()
                share = (weights - weights.min()) / max(1e-9, float(np.ptp(weights))) * 0.75
                orange = np.broadcast_to(np.array([1.0, 0.62, 0.0]), (*weights.shape, 3))
                axes.imshow(np.dstack([orange, share]), extent=extent, interpolation="none")
            for k, edges in boxes[number] if boxes else ():
                _box(axes, names[k], np.clip(edges, 0, 1) * [width, height, width, height], COLOURS[k])
            axes.grid(False)
            axes.set_xticks([])
            axes.set_yticks([])
            if titles:
                axes.set_title(titles[number], fontsize=9, pad=14 if boxes else None)

    # Room for the names above boxes at the top of an image.
    side, high, line = (1.65, 1.75, 0.35) if boxes else (1.25, 1.1, 0.2)
    size = (min(WIDEST, side * columns), (high + line * lines) * rows)
    return _drawing(size, draw, "", [*titles, *names])


def curves(
    lines: Mapping[str, Sequence[float]],
    x: Sequence[float] | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    log: bool = False,
) -> SvgFigure:
    """Return curves by name over common x; ``log`` scales y logarithmically."""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        # The first line is the widest: one that lies under another remains visible on both sides of it.
        step = min(0.9, 2.0 / max(1, len(lines) - 1))
        widths = [1.8 + step * below for below in reversed(range(len(lines)))]
        styles = zip(cycle(COLOURS), cycle(LINES), cycle(MARKERS), strict=False)
        for (name, values), width, (colour, dashes, marker) in zip(
            lines.items(), widths, styles, strict=False
        ):
            places = range(1, len(values) + 1) if x is None else x
            shown = marker if len(values) < 20 else ""
            axes.plot(
                places,
                values,
                label=name,
                color=colour,
                linestyle=dashes,
                linewidth=width,
                marker=shown,
                markersize=3 + 1.5 * width,
                markerfacecolor="none" if width > 1.8 else colour,
            )
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        if log:
            axes.set_yscale("log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(lines) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1.01), ncols=2, handlelength=3.5)

    return _drawing((5.8, 3.8), draw, f"{ylabel} ({xlabel})", lines)


def _drawing(
    size: tuple[float, float], draw: Callable[[Figure], None], title: str, texts: Iterable[str]
) -> SvgFigure:
    """Return a figure as SVG whose texts are the viewer's to draw: a notebook need not have Korean fonts."""
    content = io.StringIO()
    # Chapters reduce a figure on a phone: larger letters than those of the other figures.
    with figures.style(" ".join([title, *texts]), text_as_text=True), mpl.rc_context({"font.size": 11}):
        figure = Figure(figsize=size, layout="tight")
        draw(figure)
        metadata = {**figures.METADATA[".svg"], **({"Title": title} if title else {})}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
            figure.savefig(content, format="svg", metadata=metadata)
    return SvgFigure(content.getvalue())


def _box(axes: Axes, name: str, edges: NDArray[np.float64], colour: str) -> None:
    """Draw a box with its name above it."""
    left, top, right, bottom = edges
    sides = Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=colour, linewidth=2)
    sides.set_path_effects([withStroke(linewidth=3.5, foreground="white")])
    axes.add_patch(sides)
    axes.annotate(
        name,
        (left, top),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=8,
        color=colour,
        bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 0.8},
    )


def _map(
    axes: Axes, weights: Tensor, rows: Labels, columns: Labels, title: str, *, numbers: bool = False
) -> None:
    values = weights.detach().float().numpy()
    low, high = min(0.0, values.min()), max(1e-9, values.max())
    axes.imshow(values, cmap="Blues", vmin=low, vmax=high, aspect="auto", interpolation="none")
    axes.grid(False)
    turned = any(len(name) > 2 for name in columns)
    axes.set_xticks(
        range(len(columns)), columns, rotation=60 if turned else 0, ha="right" if turned else "center"
    )
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title, fontsize=11)
    if numbers:
        for (row, column), value in np.ndenumerate(values):
            dark = value > 0.6 * values.max()
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", color="white" if dark else "black"
            )
