"""How pictures look, and how they are written: the same bytes for the same picture.

Only figures are made, never windows: the plotting library's global state is left alone.
"""

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from multihead.errors import UserError
from multihead.inspect.fonts import families
from multihead.run import files

INK, FAINT, RULE = "#1f2933", "#66727f", "#d9dee4"
"""Text; text that explains; lines that only guide the eye."""
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
"""Three colours that colour-blind readers tell apart (Okabe and Ito 2008)."""

SEQUENTIAL = LinearSegmentedColormap.from_list(
    "ink", ["#f1f4f8", "#cfe0f0", "#8fbfe0", "#4a94c9", "#1f66a8", "#0b3c75", "#051d40"]
)
"""One hue, ever darker: the same to colour-blind eyes and in black and white."""

METADATA = {
    ".svg": {"Date": None, "Creator": "multihead"},
    ".png": {"Software": "multihead"},
    ".pdf": {"CreationDate": None, "Creator": "multihead", "Producer": None},
}
"""Endings of names, and what is written into such a file about itself: nothing that changes by itself."""

_LOOK: Any = {
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
def look(text: str = "", *, text_as_text: bool = False) -> Iterator[None]:
    """What is made and saved inside the block looks as all pictures here, whatever the user's defaults.

    Args:
        text: all that will be written in it, so that fonts can be chosen.
        text_as_text: in SVG, keep text as text, to be drawn by the viewer's fonts, and not as outlines.
    """
    fonts, _ = families(text)
    with matplotlib.style.context("default"), mpl.rc_context(_LOOK):
        mpl.rcParams["font.family"] = [*fonts, "sans-serif"]
        mpl.rcParams["svg.fonttype"] = "none" if text_as_text else "path"
        yield


def save(figure: Figure, path: str | Path, *, text: str = "", tight: bool = False) -> None:
    """Write a picture, in the format that the name's ending says.

    Args:
        figure: the picture.
        path: ends with .svg, .png or .pdf.
        text: all that is written in the picture. A warning tells of characters that no installed font has,
            except in SVG, where the viewer's fonts are used.
        tight: take in what stands outside of the figure.

    Raises:
        UserError: another ending; the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in METADATA:
        remedy = "End it with .svg, .png or .pdf."
        raise UserError(
            "the name does not say which kind of picture to write", place=str(path), remedy=remedy
        )
    _, missing = families(text)
    if missing and kind != ".svg":
        warnings.warn(
            f"{path}: no installed font has {' '.join(missing[:20])}, so boxes stand there. "
            "Write .svg, or install a font for this script (Noto Sans has them all).",
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
    """Return a text as one line that can be drawn: control characters as numbers, long ones cut by "…"."""
    shown = "".join(f"\\x{ord(char):02x}" if _unfit(char) else char for char in text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _unfit(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in "\ufffe\uffff"
