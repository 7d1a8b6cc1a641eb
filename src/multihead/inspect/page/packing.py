"""Numbers as short text: bytes in base64, which a browser reads back in one go."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

Json = dict[str, Any]
"""What becomes a JSON object."""

Floats = NDArray[np.float32]


def weights(values: Floats) -> str:
    """Pack weights from 0 to 1 as a byte each, round(255 sqrt(w)).

    The root gives small weights finer steps: a head that spreads over a hundred tokens stays legible. Read
    back as (byte / 255)^2, a weight w is off by at most sqrt(w) / 255 + 1e-5.
    """
    return text(np.rint(255 * np.sqrt(np.clip(values, 0, 1))).astype(np.uint8))


def floats(values: Floats) -> str:
    """Pack numbers as they are, 4 little-endian bytes each."""
    return text(np.ascontiguousarray(values, dtype="<f4"))


def signed(values: Floats) -> Json:
    """Pack numbers around 0 as a signed byte each: value = byte * unit."""
    unit = float(np.abs(values).max(initial=0)) / 127 or 1.0
    return {"unit": unit, "data": text(np.rint(values / unit).astype(np.int8))}


def text(values: NDArray[Any]) -> str:
    """The bytes of an array in base64."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def rounded(value: float, digits: int = 4) -> float:
    """A number with so many digits after the point, so that JSON stays short."""
    return round(float(value), digits)
