"""Positional encodings as NumPy arrays (``nn.positions`` for the equations and their sources)."""

from collections.abc import Callable

import numpy as np

from multihead.system.native_library import Array


def sinusoids(length: int, d_model: int, *, interleaved: bool) -> Array:
    """The table of ``nn.positions.sinusoids``, (length, d_model), float32."""
    half = (d_model + 1) // 2
    steps = np.arange(half, dtype=np.float64)
    exponent = 2 * steps / d_model if interleaved else steps / max(half - 1, 1)
    angle = np.arange(length, dtype=np.float64)[:, None] / 10_000**exponent
    waves = np.sin(angle), np.cos(angle)
    table = np.stack(waves, axis=-1).reshape(length, -1) if interleaved else np.concatenate(waves, axis=1)
    return np.ascontiguousarray(table[:, :d_model], np.float32)


def encodings_of(kind: str, d_model: int, weight: Array | None) -> Callable[[int], Array | None]:
    """Return the function ``encodings`` of a ``PositionsSpec``.

    Raises:
        ValueError: there are no positions of this kind.
    """
    if kind == "none":
        return lambda length: None
    if kind == "learned" and weight is not None:
        return lambda length: weight
    if kind not in ("sinusoidal", "sinusoidal_concatenated"):
        raise ValueError(f"positions of kind {kind!r}")
    table = sinusoids(512, d_model, interleaved=kind == "sinusoidal")

    def grown(length: int) -> Array:
        nonlocal table
        if length > len(table):
            table = sinusoids(2 * length, d_model, interleaved=kind == "sinusoidal")
        return table

    return grown
