"""A model small enough for brute-force search, which also checks how search uses it."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.system import randomness

V = 5
PAD, A, B, BOS, EOS = range(V)


def sources(*numbers: int, length: int = 3) -> Source:
    """Return sentences of ``length`` equal tokens, each repeating its number."""
    ids = torch.tensor([[number] * length for number in numbers], dtype=torch.long)
    return Source(ids.view(len(numbers), length), torch.full((len(numbers),), length))


@dataclass
class TableState:
    """Histories of all rows. Asserts that it is used once, and with rows in order."""

    numbers: list[int]
    histories: list[list[int]]
    used: bool = False

    def _use(self) -> None:
        assert not self.used, "a used state was used again"
        self.used = True

    @property
    def each(self) -> int:
        return len(self.histories) // len(self.numbers)

    def select(self, rows: Tensor) -> "TableState":
        self._use()
        assert rows.dtype == torch.long
        assert rows.dim() == 1
        assert len(rows) % len(self.numbers) == 0, "sentences have different numbers of rows"
        each = len(rows) // len(self.numbers)
        assert each > 0
        for place, row in enumerate(rows.tolist()):
            assert row // self.each == place // each, "a row moved to another sentence"
        return TableState(self.numbers, [list(self.histories[r]) for r in rows.tolist()])

    def keep(self, sentences: Tensor) -> "TableState":
        self._use()
        kept = sentences.tolist()
        assert kept, "no sentence was kept"
        assert kept == sorted(set(kept)), "sentences must be ascending"
        rows = [s * self.each + i for s in kept for i in range(self.each)]
        return TableState([self.numbers[s] for s in kept], [self.histories[r] for r in rows])


class Table:
    """A model whose logits are a deterministic function of (seed, source, history)."""

    def __init__(self, seed: int = 1, vocabulary: int = V, spread: float = 1.5) -> None:
        self.seed, self.vocabulary, self.spread = seed, vocabulary, spread
        self.memory: dict[tuple[int, ...], Tensor] = {}
        self.steps = self.rows = 0

    def logits(self, number: int, history: Sequence[int]) -> Tensor:
        key = (number, *history)
        if key not in self.memory:
            with randomness.at(self.seed, *key):
                self.memory[key] = self.spread * torch.randn(self.vocabulary)
        return self.memory[key]

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> TableState:
        assert len(source.ids_BS) == len(prefixes)
        return TableState(source.ids_BS[:, 0].tolist(), [list(prefix[:-1]) for prefix in prefixes])

    def step(self, tokens_R: Tensor, state: TableState) -> tuple[Tensor, TableState]:
        assert torch.is_inference_mode_enabled()
        state._use()
        assert tokens_R.shape == (len(state.histories),)
        self.steps += 1
        self.rows += len(tokens_R)
        histories = [[*h, t] for h, t in zip(state.histories, tokens_R.tolist(), strict=True)]
        logits = [self.logits(state.numbers[r // state.each], h) for r, h in enumerate(histories)]
        return torch.stack(logits), TableState(state.numbers, histories)


def log_p(table: Table, number: int, prefix: Sequence[int], tokens: Sequence[int]) -> float:
    """Return the log-probability of ``tokens`` after ``prefix``, term by term."""
    history, total = list(prefix), 0.0
    for token in tokens:
        total += float(table.logits(number, history).double().log_softmax(0)[token])
        history.append(token)
    return total


class Output(NamedTuple):
    """An output that search should find."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool


def brute_force(
    table: Table,
    number: int,
    prefix: Sequence[int],
    *,
    longest: int,
    alpha: float,
    shortest: int = 0,
    allowed: Sequence[int] = (PAD, A, B, BOS),
    ngram: int = 0,
) -> list[Output]:
    """Return all outputs, best first."""
    found = []
    forced = tuple(prefix[1:])
    for extra in range(max(0, shortest - len(forced)), longest - len(forced) + 1):
        for rest in itertools.product(allowed, repeat=extra):
            tokens = (*forced, *rest)
            if repeats(tokens, ngram):
                continue
            total = log_p(table, number, prefix, (*rest, EOS))
            scores = table.logits(number, (*prefix, *rest))
            rivals = [scores[token] for token in allowed if not repeats((*tokens, token), ngram)]
            finished = len(tokens) < longest or all(scores[EOS] > rival for rival in rivals)
            score = total / ((5 + len(tokens) + 1) / 6) ** alpha
            found.append(Output(tokens, total, score, finished))
    return sorted(found, key=lambda output: -output.score)


def repeats(tokens: Sequence[int], n: int) -> bool:
    """Return True if an n-gram occurs twice; always False for n = 0."""
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)] if n else []
    return len(grams) != len(set(grams))


def near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-5)
