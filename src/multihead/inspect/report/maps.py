"""Alignment heat maps as SVG: output rows by source columns (Bahdanau et al. 2015, figure 3)."""

from multihead.inspect import figures
from multihead.inspect.maps import Alignment
from multihead.inspect.report.markup import SafeHtml, tag

CELL, LETTER = 22, 7.2
"""Side of a cell and average width of a letter, in pixels."""
LONGEST = 14
"""Maximum number of letters of a token."""


def alignment_map(alignment: Alignment, name: str) -> SafeHtml:
    """Return a heat map: the darker a cell, the larger its weight (the lighter, in the dark theme).

    Args:
        alignment: alignment of words or subwords.
        name: accessible name for screen readers.
    """
    rows = [figures.visible(token.text, LONGEST) for token in alignment.target]
    columns = [figures.visible(token.text, LONGEST) for token in alignment.source]
    left = 10 + LETTER * max(map(len, rows), default=0)
    top = 10 + 0.75 * LETTER * max(map(len, columns), default=0)
    ends = (CELL * (j + 0.5) + 0.75 * LETTER * len(text) for j, text in enumerate(columns))
    right = left + max([CELL * len(columns), *ends])
    width, height = right + 4, top + CELL * len(rows) + 4
    cells = [
        tag(
            "rect",
            tag("title", f"{row} → {column}: {weight:.2f}"),
            x=left + CELL * j + 1,
            y=top + CELL * i + 1,
            width=CELL - 2,
            height=CELL - 2,
            rx=2,
            fill_opacity=float(weight) ** 0.7,
        )
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
        if (weight := alignment.matrix_TS[i, j]) >= 0.005
    ]
    background = tag(
        "rect",
        x=left,
        y=top,
        width=CELL * len(columns),
        height=CELL * len(rows),
        class_="ground",
    )
    return tag(
        "svg",
        background,
        cells,
        [
            tag("text", text, x=left - 7, y=top + CELL * (i + 0.5) + 4, text_anchor="end")
            for i, text in enumerate(rows)
        ],
        [
            tag("text", text, transform=f"translate({left + CELL * (j + 0.5):.1f} {top - 6:.1f}) rotate(-45)")
            for j, text in enumerate(columns)
        ],
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        class_="map",
        role="img",
        aria_label=name,
    )
