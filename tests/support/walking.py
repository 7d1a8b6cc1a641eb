"""A random search whose incremental steps are checked against whole forward passes."""

import random
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from multihead.batch import Source
from multihead.models.transformer import Transformer

BOS, V = 2, 13
PREFIXES = pytest.mark.parametrize(
    "prefixes",
    [[[BOS]] * 5, [[BOS], [BOS, 7, 5, 9], [BOS, 4], [BOS, 8, 8], [BOS]], [[BOS, 11, 6]] * 5],
    ids=["begin", "uneven", "even"],
)


def source_of(lengths: list[int]) -> Source:
    return Source(torch.randint(4, V, (len(lengths), max(lengths))), torch.tensor(lengths))


class Walk:
    """A random search: rows as plain lists, and the model's state that must agree with them."""

    def __init__(self, model: Any, source: Source, prefixes: list[list[int]]) -> None:
        self.model, self.source, self.chance = model, source, random.Random(1)
        self.rows = [list(prefix) for prefix in prefixes]
        self.sentences = list(range(len(prefixes)))
        self.each = 1
        self.state = model.start(source, prefixes)

    def step(self) -> None:
        """Make a step, and compare its logits with a whole forward pass for every row."""
        logits, self.state = self.model.step(torch.tensor([row[-1] for row in self.rows]), self.state)
        for number, row in enumerate(self.rows):
            sentence = self.sentences[number // self.each]
            length = self.source.lengths_B[[sentence]]
            alone = Source(self.source.ids_BS[[sentence], : int(length)], length)
            assert_close(logits[number], self._whole(alone, row), atol=1e-5, rtol=0)

    def _whole(self, source: Source, row: list[int]) -> torch.Tensor:
        target = torch.tensor([row])
        read = source.ids_BS if isinstance(self.model, Transformer) else source
        logits: torch.Tensor = self.model(read, target)[0, -1]
        return logits

    def select(self, each: int) -> None:
        """Continue with ``each`` hypotheses per sentence, drawn with replacement, and a random token each."""
        rows = [
            number * self.each + self.chance.randrange(self.each)
            for number in range(len(self.sentences))
            for _ in range(each)
        ]
        self.state = self.state.select(torch.tensor(rows))
        self.rows = [[*self.rows[row], self.chance.randrange(4, V)] for row in rows]
        self.each = each

    def keep(self, numbers: list[int]) -> None:
        """Continue with some of the remaining sentences."""
        self.state = self.state.keep(torch.tensor(numbers))
        self.rows = [row for n in numbers for row in self.rows[n * self.each : (n + 1) * self.each]]
        self.sentences = [self.sentences[n] for n in numbers]


def walk_through(model: Any, prefixes: list[list[int]]) -> None:
    walk = Walk(model, source_of([3, 7, 5, 1, 2]), prefixes)
    for each, kept in ((3, None), (2, [0, 1, 3, 4]), (2, None), (5, [1, 3]), (1, [0]), (3, None)):
        walk.step()
        walk.select(each)
        if kept:
            walk.keep(kept)
    walk.step()


def walk_from_copied_rows(model: Any) -> None:
    for prefixes in ([[BOS], [BOS]], [[BOS], [BOS, 5, 7]]):
        walk = Walk(model, source_of([3, 5]), prefixes)
        walk.state = walk.state.select(torch.tensor([0, 0, 0, 1, 1, 1]))
        walk.rows, walk.each = [list(prefix) for prefix in prefixes for _ in range(3)], 3
        walk.step()
        walk.keep([1])
        walk.select(2)
        walk.step()
