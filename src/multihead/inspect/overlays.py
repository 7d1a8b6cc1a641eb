"""Figures of attention maps drawn over an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from multihead.data.images.opening import Pixels, as_image
from multihead.inspect import figures
from multihead.inspect.figures import RULE, visible

WIDTH = 1.15
"""Width of a panel in inches."""
OPACITY = 0.7
"""Opacity of the map over the image."""


@dataclass(frozen=True, slots=True)
class OverlayPanel:
    """A copy of the image with a title and a map over it, (rows, columns); None: no map."""

    title: str
    values_rc: NDArray[np.float32] | None


def overlays(
    pixels_Chw: Pixels, rows: Sequence[Sequence[OverlayPanel]], caption: str, path: str | Path
) -> None:
    """Draw rows of panels of the same image under different maps, each map with its own scale.

    Args:
        pixels_Chw: the image.
        rows: rows of panels.
        caption: text below the panels.
        path: output file, ending in .svg, .png or .pdf.

    Raises:
        UserError: an unsupported file extension, or the file cannot be written.
    """
    text = caption + "".join(panel.title for row in rows for panel in row)
    columns = max(map(len, rows))
    with figures.style(text, text_as_text=True):
        figure = Figure(figsize=(columns * WIDTH, len(rows) * (WIDTH + 0.2)), facecolor="white")
        axes = figure.subplots(len(rows), columns, squeeze=False)
        figure.subplots_adjust(0, 0, 1, 1, wspace=0.06, hspace=0.2)
        for axes_row, row in zip(axes, rows, strict=True):
            for cell, panel in zip(axes_row, row, strict=False):
                _draw(cell, pixels_Chw, panel)
            for cell in axes_row[len(row) :]:
                cell.set_axis_off()
        figures.annotate_below(axes[-1][0], caption, distance=10)
        figures.save(figure, path, text=text, tight=True)


def _draw(axes: Axes, pixels_Chw: Pixels, panel: OverlayPanel) -> None:
    _, height, width = pixels_Chw.shape
    extent = (0, width, height, 0)
    axes.imshow(np.asarray(as_image(pixels_Chw).convert("RGB")), interpolation="nearest", extent=extent)
    if panel.values_rc is not None:
        most = float(panel.values_rc.max()) or 1.0
        axes.imshow(
            panel.values_rc,
            cmap="inferno",
            vmin=0,
            vmax=most,
            alpha=OPACITY,
            interpolation="nearest",
            extent=extent,
        )
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set(visible=True, color=RULE, linewidth=0.6)  # a white image needs a visible edge
    axes.set_title(visible(panel.title), fontsize=8, pad=3, parse_math=False)
