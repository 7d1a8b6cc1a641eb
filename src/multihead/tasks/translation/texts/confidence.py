"""Confidence of a translation: its expected sentence-level chrF, given its probability.

The length-normalised log-probability of an output rises with its quality, but its scale differs from model to
model. A calibration maps it to the mean chrF of such outputs on held-out data, by isotonic regression
(Barlow & Brunk 1972; Zadrozny & Elkan 2002). It is stored in the run folder as confidence.json.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from multihead.system.json_file import read_json

NAME = "confidence.json"
FORMAT = 1
LOW = 0.3
"""Confidence below which a translation should be reviewed."""


@dataclass(frozen=True)
class Calibration:
    """A non-decreasing, piecewise linear map from mean token log-probability to expected chrF in [0, 1].

    Attributes:
        points: (mean log-probability, expected chrF), ascending; empty: the map is the probability.
        error: expected calibration error on held-out data; None: not measured.
        pairs: number of sentence pairs it was fitted on.
        longest: ratio of an output's length to its source's, by ``length_ratio``, that hardly any held-out
            pair exceeds; 0: not measured.
    """

    points: tuple[tuple[float, float], ...] = ()
    error: float | None = None
    pairs: int = 0
    longest: float = 0.0

    def __call__(self, mean_log_probability: float) -> float:
        """Return the expected chrF of an output, from 0 to 1."""
        if math.isnan(mean_log_probability):
            return 0.0
        if not self.points:
            return math.exp(min(0.0, mean_log_probability))
        before = self.points[0]
        for after in self.points:
            if mean_log_probability < after[0]:
                return _between(before, after, mean_log_probability)
            before = after
        return before[1]

    def too_long(self, source: str, output: str) -> bool:
        """Return whether an output is far longer than translations of such a source are."""
        return 0 < self.longest < length_ratio(source, output)

    def to_json(self) -> str:
        """Return the content of confidence.json."""
        content = {
            "format": FORMAT,
            "error": self.error,
            "pairs": self.pairs,
            "longest": self.longest,
            "points": self.points,
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the calibration of a run; the identity for a run without one.

        Raises:
            UserError: the file is damaged.
        """
        remedy = "Remove it, or make it again: multihead evaluate RUN --calibrate."
        return read_json(Path(folder) / NAME, cls._of, remedy) or cls()

    @classmethod
    def _of(cls, content: Mapping[str, Any]) -> Self:
        points = tuple((float(x), float(y)) for x, y in content["points"])
        error, longest = content["error"], float(content.get("longest", 0))
        values = [longest, *(value for point in points for value in point)]
        if content["format"] != FORMAT or not all(map(math.isfinite, values)):
            raise ValueError("not a calibration of this version")
        if list(points) != sorted(points) or not all(0 <= y <= 1 for _, y in points):
            raise ValueError("its points are out of order")
        return cls(points, None if error is None else float(error), int(content["pairs"]), longest)


def length_ratio(source: str, target: str) -> float:
    """Return the ratio of two lengths in characters; 10 are added to both, which spares short texts."""
    return (len(target) + 10) / (len(source) + 10)


def _between(before: tuple[float, float], after: tuple[float, float], x: float) -> float:
    """Interpolate; before the first point, the value decays exponentially towards 0."""
    if before == after:
        return after[1] * math.exp(x - after[0])
    (x0, y0), (x1, y1) = before, after
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
