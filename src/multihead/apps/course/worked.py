"""Texts of worked examples: a dot product written out in numbers."""

from torch import Tensor


def terms(a_N: Tensor, b_N: Tensor, decimals: int = 2) -> str:
    """Return the dot product of two vectors as it is worked out by hand: "1.00·2.00 + 0.50·(-1.00)".

    Raises:
        ValueError: the vectors differ in length.
    """
    pairs = zip(a_N.tolist(), b_N.tolist(), strict=True)
    return " + ".join(f"{_factor(a, decimals)}·{_factor(b, decimals)}" for a, b in pairs)


def _factor(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return f"({text})" if text.startswith("-") else text
