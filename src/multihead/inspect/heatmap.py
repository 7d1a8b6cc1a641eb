"""Heat map of an alignment, output rows by source columns (Bahdanau et al. 2015, figure 3)."""

import math
import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from multihead.errors import UserError
from multihead.inspect import figures
from multihead.inspect.figures import FAINT, SEQUENTIAL, visible
from multihead.inspect.maps import Alignment, TokenLabel
from multihead.inspect.maps.alignment import CAUTION

_LARGE, _SMALL, _PAGE, _LIMIT = 0.42, 0.2, 10.0, 36.0
"""Inches. Cells shrink from large to small to fit a page; then the figure grows up to a limit."""
_MAX_SHAPES = 4000
"""Number of cells above which SVG and PDF hold one bitmap instead of a shape per cell."""

NOT_ALLOWED = "#e3e6ea"
"""Grey of masked cells, distinct from a weight of 0."""

_BAR: dict[str, Any] = {"color": FAINT, "linewidth": 1.2, "clip_on": False, "solid_capstyle": "butt"}
"""Style of the line that groups the subwords of a word."""


def heatmap(alignment: Alignment, path: str | Path) -> None:
    """Draw an alignment as a heat map.

    Args:
        alignment: the alignment, from ``maps.align``.
        path: output file, ending in .svg, .png or .pdf.

    Raises:
        UserError: an unsupported file extension, no tokens, or the file cannot be written.
    """
    if not alignment.matrix_TS.size:
        raise UserError("there are no tokens to draw", place=str(path), remedy="Give a sentence with words.")
    text = alignment.caption + "".join(token.text for token in (*alignment.target, *alignment.source))
    with figures.style(text, text_as_text=True):
        figures.save(_figure(alignment), path, text=text, tight=True)


def _figure(alignment: Alignment) -> Figure:
    """Return a figure filled by the cells; the labels outside need a tight bounding box."""
    rows, columns = alignment.matrix_TS.shape
    longer = max(rows, columns)
    cell = min(_LARGE, max(_SMALL, _PAGE / longer), _LIMIT / longer)
    figure = Figure(figsize=(columns * cell, rows * cell), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    # The colour scale ends at the next tenth above the largest weight, so that diffuse heads stay legible.
    top = math.ceil(10 * float(alignment.matrix_TS.max()) - 1e-4) / 10
    masked = np.ma.nomask if alignment.allowed_TS is None else ~alignment.allowed_TS
    mesh = axes.pcolormesh(
        np.ma.masked_array(alignment.matrix_TS, masked),
        cmap=SEQUENTIAL.with_extremes(bad=NOT_ALLOWED),
        vmin=0,
        vmax=top or 1,
        edgecolors="white",
        linewidth=4 * cell if cell >= _SMALL else 0,
        rasterized=rows * columns > _MAX_SHAPES,
    )
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    _label(axes, alignment, cell)
    _scale(figure, mesh, columns * cell, rows * cell)
    _caption(axes, alignment.caption, columns * cell)
    return figure


def _label(axes: Axes, alignment: Alignment, cell: float) -> None:
    source, target = alignment.source, alignment.target
    size = min(12.0, 34 * cell)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    # A "$" in a token does not start a formula.
    plain: dict[str, Any] = {"fontsize": size, "parse_math": False, "rotation_mode": "anchor"}
    axes.set_xticks(
        [i + 0.5 for i in range(len(source))],
        [visible(token.text) for token in source],
        rotation=45,
        ha="left",
        va="center",
        **plain,
    )
    axes.set_yticks([i + 0.5 for i in range(len(target))], [visible(token.text) for token in target], **plain)
    axes.tick_params(length=0, pad=5 + 4 * cell)
    axes.set_xlabel(alignment.columns, labelpad=8, fontsize=9)
    axes.set_ylabel(alignment.rows, labelpad=8, fontsize=9)
    across, down = axes.get_xaxis_transform(), axes.get_yaxis_transform()
    for start, end in _split_words(source):
        axes.plot([start + 0.1, end - 0.1], [1 + 0.07 / len(target)] * 2, transform=across, **_BAR)
    for start, end in _split_words(target):
        axes.plot([-0.07 / len(source)] * 2, [start + 0.1, end - 0.1], transform=down, **_BAR)


def _split_words(tokens: Sequence[TokenLabel]) -> list[tuple[int, int]]:
    """Return the start and end of each word with several subwords."""
    groups = [list(positions) for _, positions in groupby(range(len(tokens)), key=lambda i: tokens[i].word)]
    return [(positions[0], positions[-1] + 1) for positions in groups if len(positions) > 1]


def _scale(figure: Figure, mesh: QuadMesh, width: float, height: float) -> None:
    long = min(height, 1.6)
    axes = figure.add_axes((1 + 0.25 / width, 1 - long / height, 0.1 / width, long / height))
    bar = figure.colorbar(mesh, cax=axes, ticks=[0, mesh.norm.vmax])
    bar.outline.set_visible(False)
    axes.tick_params(length=0, pad=4, labelsize=8, labelcolor=FAINT)
    axes.set_ylabel("weight", fontsize=8, labelpad=-4)


def _caption(axes: Axes, caption: str, width: float) -> None:
    letters = int(max(width + 1, 5) * 16)
    method = caption.removesuffix(CAUTION).strip()
    lines = [line for part in (method, CAUTION) for line in _balance(part, letters)]
    figures.annotate_below(axes, "\n".join(lines), distance=14, size=8)


def _balance(text: str, letters: int) -> list[str]:
    """Wrap a text into the fewest lines of at most this many letters, of about equal length."""
    needed = len(textwrap.wrap(text, letters))
    width = next(width for width in range(1, letters + 1) if len(textwrap.wrap(text, width)) == needed)
    return textwrap.wrap(text, width)
