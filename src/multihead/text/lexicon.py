"""Words that translate each other, learned from sentence pairs (IBM model 1, Brown et al. 1993).

A translator's lexicon is stored in its run folder as lexicon.json; inline tags are placed with its help.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from multihead.system.json_file import read_json

NAME = "lexicon.json"
FORMAT = 1
WORD = re.compile(r"\w+|[^\w\s]")
"""A word, or a single sign."""
ITERATIONS = 5
LEAST = 0.02
"""Smallest weight that is kept."""
MOST = 50_000
"""Pairs of words that are kept, those with the largest weights."""


class LexiconTable(NamedTuple):
    """Probabilities of target words given a source word, all of shape (N,).

    Attributes:
        source, target: numbers of the words.
        probability: p(target | source).
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    probability: NDArray[np.float64]


def translations(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> LexiconTable:
    """Return the translation probabilities of all words that occur together, after a few steps of EM.

    Args:
        sources: the word numbers of each source sentence.
        targets: those of its translation.
    """
    cells, slots, slot = [], [], 0
    size = 1 + max((word for words in targets for word in words), default=0)
    for left, right in zip(sources, targets, strict=True):
        if left and right:
            pairs = np.array(left)[:, None] * size + np.array(right)
            cells.append(pairs.ravel())
            slots.append(np.broadcast_to(slot + np.arange(len(right)), pairs.shape).ravel())
            slot += len(right)
    if not cells:
        nothing = np.zeros(0, dtype=np.int64)
        return LexiconTable(nothing, nothing, np.zeros(0))
    keys, inverse = np.unique(np.concatenate(cells), return_inverse=True)
    slot_of: NDArray[np.int64] = np.concatenate(slots)
    owner = keys // size
    probability = np.ones(len(keys))
    for _ in range(ITERATIONS):
        weights = probability[inverse]
        weights /= np.bincount(slot_of, weights)[slot_of]
        counts = np.bincount(inverse, weights, minlength=len(keys))
        probability = counts / np.bincount(owner, counts)[owner]
    return LexiconTable(owner, keys % size, probability)


class Lexicon:
    """Weights of pairs of words that translate each other: sqrt(p(t | s) p(s | t)), from 0 to 1.

    Args:
        weights: of each source word, those of its target words; all in lower case.
    """

    def __init__(self, weights: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self._weights = weights or {}

    def __len__(self) -> int:
        return sum(map(len, self._weights.values()))

    def weight(self, source: str, target: str) -> float:
        """Return the weight of two words, in any case; 0 for a pair that was not learned."""
        return self._weights.get(source.lower(), {}).get(target.lower(), 0.0)

    @classmethod
    def learn(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Return the lexicon of sentence pairs; time and memory grow with their pairs of words."""
        names: tuple[dict[str, int], dict[str, int]] = ({}, {})
        sides: tuple[list[list[int]], list[list[int]]] = ([], [])
        for pair in pairs:
            for text, numbers, sentences in zip(pair, names, sides, strict=True):
                words = dict.fromkeys(WORD.findall(text.lower()))
                sentences.append([numbers.setdefault(word, len(numbers)) for word in words])
        there, back = translations(*sides), translations(*sides[::-1])
        # The same pairs in the same order: by source, then by target.
        order = np.lexsort((back.source, back.target))
        weight = np.sqrt(there.probability * back.probability[order])
        best = np.lexsort((np.arange(len(weight)), -weight))[:MOST]
        written = [list(numbers) for numbers in names]
        weights: dict[str, dict[str, float]] = {}
        for place in np.sort(best[weight[best] >= LEAST]).tolist():
            source, target = written[0][there.source[place]], written[1][there.target[place]]
            weights.setdefault(source, {})[target] = round(float(weight[place]), 3)
        return cls(weights)

    def to_json(self) -> str:
        """Return the content of lexicon.json."""
        return json.dumps({"format": FORMAT, "weights": self._weights}, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the lexicon of a run; an empty one for a run without.

        Raises:
            UserError: the file is damaged.
        """
        remedy = "Remove it: tags are then placed by attention alone."
        return cls(read_json(Path(folder) / NAME, _check, remedy))


def _check(content: Any) -> dict[str, dict[str, float]]:
    if content["format"] != FORMAT:
        raise ValueError("not a lexicon of this version")
    weights: dict[str, dict[str, float]] = {}
    for source, row in content["weights"].items():
        weights[source] = {target: float(weight) for target, weight in row.items()}
        if not all(0 <= weight <= 1 for weight in weights[source].values()):
            raise ValueError("a weight is not between 0 and 1")
    return weights
