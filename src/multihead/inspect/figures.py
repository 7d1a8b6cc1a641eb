"""Style and output of figures. The same figure always gives the same bytes.

Figures are created directly, without windows and without Matplotlib's global state.
"""

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from multihead.errors import UserError
from multihead.inspect.fonts import families
from multihead.run import files

INK, FAINT, RULE = "#1f2933", "#66727f", "#d9dee4"
"""Colours of text, secondary text and guide lines."""
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
"""Three colours from a palette that is safe for colour-blind readers (Okabe and Ito 2008)."""

SEQUENTIAL = LinearSegmentedColormap.from_list(
    "ink", ["#f1f4f8", "#cfe0f0", "#8fbfe0", "#4a94c9", "#1f66a8", "#0b3c75", "#051d40"]
)
"""Single-hue sequential colour map: it reads the same to colour-blind readers and in greyscale."""

METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "multihead"},
    ".png": {"Software": "multihead"},
    ".pdf": {"CreationDate": None, "Creator": "multihead", "Producer": None},
}
"""Metadata written for each file extension, without dates, so that the bytes are reproducible."""

_STYLE: Any = {
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": FAINT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "svg.hashsalt": "multihead",
    "pdf.fonttype": 42,
}


@contextmanager
def style(text: str = "", *, text_as_text: bool = False) -> Iterator[None]:
    """Apply the common style in the block, regardless of the user's defaults.

    Args:
        text: all text of the figure, from which the fonts are chosen.
        text_as_text: in SVG, keep text as text, drawn by the viewer's fonts, instead of outlines.
    """
    fonts, _ = families(text)
    with matplotlib.style.context("default"), mpl.rc_context(_STYLE):
        mpl.rcParams["font.family"] = [*fonts, "sans-serif"]
        mpl.rcParams["svg.fonttype"] = "none" if text_as_text else "path"
        yield


def annotate_below(axes: Axes, text: str, *, distance: float, size: float = 7) -> None:
    """Write a text below the lower left corner of the axes, ``distance`` points away."""
    corner: Any = {"xy": (0, 0), "xycoords": "axes fraction", "textcoords": "offset points", "va": "top"}
    axes.annotate(text, xytext=(0, -distance), fontsize=size, color=FAINT, linespacing=1.5, **corner)


def save(figure: Figure, path: str | Path, *, text: str = "", tight: bool = False) -> None:
    """Write a figure in the format given by the file extension.

    Args:
        figure: the figure.
        path: output file, ending in .svg, .png or .pdf.
        text: all text of the figure. Characters that no installed font covers cause a warning, except in
            SVG, which uses the viewer's fonts.
        tight: extend the bounding box to artists outside the figure.

    Raises:
        UserError: an unsupported file extension, or the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in METADATA:
        raise UserError(
            "the file extension is not that of a supported image format",
            place=str(path),
            remedy="Use .svg, .png or .pdf.",
        )
    _, missing = families(text)
    if missing and kind != ".svg":
        warnings.warn(
            f"{path}: no installed font has {' '.join(missing[:20])}; they are drawn as boxes. "
            "Write .svg, or install a font that covers them, such as Noto Sans.",
            stacklevel=2,
        )
    box = "tight" if tight else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        files.write(
            path,
            lambda partial: figure.savefig(
                partial, format=kind[1:], dpi=200, metadata=METADATA[kind], bbox_inches=box, pad_inches=0.2
            ),
        )


def visible(text: str, longest: int = 24) -> str:
    """Return a text as one printable line: control characters escaped, long texts truncated with "…"."""
    line = "".join(f"\\x{ord(char):02x}" if _unprintable(char) else char for char in text)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _unprintable(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in "\ufffe\uffff"
