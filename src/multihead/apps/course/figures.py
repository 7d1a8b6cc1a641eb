"""Figures of the course: weights as a heat map, curves on one pair of axes, images in rows."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

Labels = Sequence[str]


class NotebookFigure(Figure):
    """A figure that a notebook shows by itself, without pyplot."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=110)
        return content.getvalue()


def heatmap(
    weights: Tensor, rows: Labels = (), columns: Labels = (), *, title: str = "", numbers: bool = False
) -> NotebookFigure:
    """Return a heat map of a matrix, (rows, columns); with ``numbers`` each cell shows its value."""
    figure = NotebookFigure(
        figsize=(1.6 + 0.55 * weights.shape[1], 1.0 + 0.45 * weights.shape[0]), layout="tight"
    )
    _map(figure.add_subplot(), weights, rows, columns, title, numbers=numbers)
    return figure


def heads(
    weights_HQK: Tensor, rows: Labels = (), columns: Labels = (), *, title: str = "head"
) -> NotebookFigure:
    """Return a heat map for each head, side by side; (heads, rows, columns)."""
    H, Q, K = weights_HQK.shape
    figure = NotebookFigure(figsize=(1.0 + H * (0.6 + 0.32 * K), 1.2 + 0.32 * Q), layout="tight")
    for head in range(H):
        axes = figure.add_subplot(1, H, head + 1)
        _map(axes, weights_HQK[head], rows if not head else (), columns, f"{title} {head + 1}")
    return figure


def images(
    images_NChw: Tensor, titles: Labels = (), *, columns: int = 8, overlay_Nrc: Tensor | None = None
) -> NotebookFigure:
    """Return images in rows; pixels from 0 to 1, (images, 1 or 3, height, width).

    Args:
        images_NChw: the images.
        titles: a title above each image.
        columns: images per row.
        overlay_Nrc: weights of patches, (images, rows, columns), drawn over each image in orange.
    """
    N, _, height, width = images_NChw.shape
    columns = min(columns, N)
    rows = -(-N // columns)
    lines = max((title.count("\n") + 1 for title in titles), default=0)
    figure = NotebookFigure(figsize=(1.25 * columns, (1.3 + 0.2 * lines) * rows), layout="tight")
    for number, image in enumerate(images_NChw.detach().float().clamp(0, 1)):
        axes = figure.add_subplot(rows, columns, number + 1)
        extent = (0.0, float(width), float(height), 0.0)
        axes.imshow(image.expand(3, -1, -1).permute(1, 2, 0).numpy(), extent=extent)
        if overlay_Nrc is not None:
            weights = overlay_Nrc[number].detach().float().numpy()
            share = (weights - weights.min()) / max(1e-9, float(np.ptp(weights))) * 0.75
            axes.imshow(np.ones_like(weights), cmap="autumn", vmin=0, vmax=1.6, alpha=share, extent=extent)
        axes.set_xticks([])
        axes.set_yticks([])
        if titles:
            axes.set_title(titles[number], fontsize=8)
    return figure


def curves(
    lines: Mapping[str, Sequence[float]],
    x: Sequence[float] | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    log: bool = False,
) -> NotebookFigure:
    """Return curves by name over common x; ``log`` scales y logarithmically."""
    figure = NotebookFigure(figsize=(6.4, 3.6), layout="tight")
    axes = figure.add_subplot()
    for name, values in lines.items():
        places = range(1, len(values) + 1) if x is None else x
        axes.plot(places, values, label=name, marker="o" if len(values) < 20 else "")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if log:
        axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    if len(lines) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
    return figure


def _map(
    axes: Axes, weights: Tensor, rows: Labels, columns: Labels, title: str, *, numbers: bool = False
) -> None:
    values = weights.detach().float().numpy()
    axes.imshow(
        values, cmap="Blues", vmin=min(0.0, values.min()), vmax=max(1e-9, values.max()), aspect="auto"
    )
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title, fontsize=10)
    if numbers:
        for (row, column), value in np.ndenumerate(values):
            dark = value > 0.6 * values.max()
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", color="white" if dark else "black"
            )
