"""Compact encoding of arrays for the page: bytes in base64, which JavaScript decodes in one call."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

Json = dict[str, Any]
"""A JSON object."""

Floats = NDArray[np.float32]


def weights(values: Floats) -> str:
    """Pack weights from 0 to 1 as one byte each, round(255 sqrt(w)).

    The square root gives small weights a finer resolution, so that a head that spreads over a hundred
    tokens stays legible. Decoded as (byte / 255)^2, a weight w is off by at most sqrt(w) / 255 + 1e-5.
    """
    return base64_text(np.rint(255 * np.sqrt(np.clip(values, 0, 1))).astype(np.uint8))


def floats(values: Floats) -> str:
    """Pack numbers exactly, as 4 little-endian bytes each."""
    return base64_text(np.ascontiguousarray(values, dtype="<f4"))


def pack_signed(values: Floats) -> Json:
    """Pack numbers around 0 as a signed byte each: value = byte * unit."""
    unit = float(np.abs(values).max(initial=0)) / 127 or 1.0
    return {"unit": unit, "data": base64_text(np.rint(values / unit).astype(np.int8))}


def base64_text(values: NDArray[Any]) -> str:
    """Return the bytes of an array in base64."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def round_number(value: float, digits: int = 4) -> float:
    """Round a number to this many decimals, which keeps the JSON short."""
    return round(float(value), digits)
