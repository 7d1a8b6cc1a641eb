"""Perplexity: the exponential of the mean negative log-likelihood."""

import math


def perplexity(nll: float, count: int) -> float:
    """Return ``exp(nll / count)``.

    Args:
        nll: negative log-likelihood (natural logarithm), summed over a corpus.
        count: number of target tokens with end tokens; or, to compare models with different vocabularies, of
            reference characters plus one for each line end.

    Returns:
        Infinity on overflow; NaN if ``nll`` is NaN.

    Raises:
        ValueError: the count is not positive.
    """
    if count <= 0:
        raise ValueError(f"perplexity over {count} tokens")
    try:
        return math.exp(nll / count)
    except OverflowError:
        return math.inf


def format_perplexity(value: float) -> str:
    """Return four significant digits: ``3.142``, ``1234``, ``1.235e+09``, ``inf``."""
    return f"{value:.4g}"
