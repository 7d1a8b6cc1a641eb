"""Perplexity: how many choices a model wavers between, in the geometric mean."""

import math


def perplexity(nll: float, count: int) -> float:
    """``exp(nll / count)``.

    Args:
        nll: negative log-likelihood (natural logarithm), summed over a corpus.
        count: what it is spread over: target tokens with end symbols; or, so that models with different
            vocabularies can be compared, characters of the reference with one for each end of line.

    Returns:
        Infinity where the number is too large for a float; NaN where ``nll`` is.

    Raises:
        ValueError: if there is nothing to count.
    """
    if count <= 0:
        raise ValueError(f"perplexity over {count} symbols")
    try:
        return math.exp(nll / count)
    except OverflowError:
        return math.inf


def format_perplexity(value: float) -> str:
    """Four significant digits, however large: ``3.142``, ``1234``, ``1.235e+09``, ``inf``."""
    return f"{value:.4g}"
