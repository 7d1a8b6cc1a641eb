"""Alignment as a text heat map: output rows by source columns; darker means more attention."""

from rich.cells import cell_len, set_cell_size

from multihead.inspect.maps import Alignment

SHADES = " ░▒▓█"


def shades(alignment: Alignment, width: int) -> str:
    """Return an alignment as a text heat map.

    Args:
        alignment: from ``attention_maps.align``.
        width: columns of the terminal; labels are truncated to fit.
    """
    targets, sources = ([token.text for token in side] for side in (alignment.target, alignment.source))
    margin = min(max(map(cell_len, targets), default=0), width // 3)
    share = max(1, (width - margin) // max(1, len(sources)) - 1)
    widths = [min(max(2, cell_len(text)), share) for text in sources]
    lines = [(" " * margin, sources)]
    lines += [
        (target, [_shade(weight) * size for weight, size in zip(row, widths, strict=True)])
        for target, row in zip(targets, alignment.matrix_TS.tolist(), strict=True)
    ]
    return "\n".join(_line(label, margin, cells, widths) for label, cells in lines)


def _line(label: str, margin: int, cells: list[str], widths: list[int]) -> str:
    fitted = [set_cell_size(cell, size) for cell, size in zip(cells, widths, strict=True)]
    return " ".join([_right(label, margin), *fitted]).rstrip()


def _right(label: str, margin: int) -> str:
    return " " * (margin - cell_len(label)) + set_cell_size(label, min(margin, cell_len(label)))


def _shade(weight: float) -> str:
    return SHADES[min(len(SHADES) - 1, int(weight * len(SHADES)))]
