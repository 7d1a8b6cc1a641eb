"""Beam search by the native kernel, several steps per call (``native/beam.h`` gives the speed-up).

Between calls, this module manages memory: it drops finished sentences and unused slots, and reserves slots
for the next steps.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from multihead.engines.native.cache import NativeCache
from multihead.engines.native.layers import NativeDecoder
from multihead.search.plain import BeamRequest, check_wanted
from multihead.system import native_library as native
from multihead.system.native_library import Array

MAX_BEAM = 64
"""Largest beam that the kernel supports."""
BLOCK_ROWS = 64
"""Rows per block of logits."""
CHECK_EVERY = 8
"""Steps between checks for unused slots: a check is cheap, compaction is not."""


class Ended(NamedTuple):
    """A hypothesis that was among its sentence's n best when it ended.

    Attributes:
        tokens: without begin and end symbol.
        log_probability: the end symbol's included.
        cut: the end symbol was forced although the model preferred another token.
    """

    tokens: tuple[int, ...]
    log_probability: float
    cut: bool


class NotFiniteScoresError(ArithmeticError):
    """The model's scores are not finite; ``step`` counts from 0."""

    def __init__(self, step: int) -> None:
        super().__init__(f"scores are not finite in step {step}")
        self.step = step


def beam(
    decoder: NativeDecoder,
    cache: NativeCache,
    embedding_Vd: Array,
    encodings: Callable[[int], Array | None],
    request: BeamRequest,
    longest_N: Array,
    first: int | None = None,
) -> list[list[Ended]]:
    """Return each sentence's finished hypotheses, in the order in which they ended.

    Args:
        decoder: the model's decoder.
        cache: from its ``begin``.
        embedding_Vd: scaled target embeddings, float32.
        encodings: ``encodings(n)`` returns at least the first n positional encodings, float32; None: nothing
            is added.
        request: the search; its beam is at most ``MAX_BEAM``.
        longest_N: maximum length of each output in tokens.
        first: row of ``embedding_Vd`` that is the first input; None: the begin symbol's.

    Raises:
        NotFiniteError: the model's scores are not finite.
        ValueError: an output exceeds the learned positions.
    """
    K = request.beam_size
    every_slot = request.beam_size == 1 and decoder.reach < 0
    live = _Live(request, longest_N, embedding_Vd.shape[1], decoder.output.outputs, every_slot)
    if first is not None:
        live.tokens[0] = first
    banned = np.array(request.banned, np.int64)
    stop_at_first = request.stop == "first"
    sizes_and_end = K, request.n_best, decoder.output.outputs, request.eos_id, stop_at_first
    constraints = request.no_repeat_ngram, request.min_length, decoder.reach
    search = (
        *sizes_and_end,
        native.bits(request.alpha),
        len(banned),
        native.array_address(banned),
        *constraints,
    )
    ended: list[_End] = []
    step = 0
    while True:
        check_wanted()
        most = CHECK_EVERY - step % CHECK_EVERY
        positions = encodings(step + most)
        if positions is not None:
            most = min(most, len(positions) - step)
            if not most:
                raise ValueError(f"position {step + 1} is beyond the {step} learned positions")
        cache.reserve(cache.slots + K * most)
        live.reserve(cache.room)
        assert live.bias is None or live.bias.shape[2] == cache.room
        tables = (embedding_Vd, positions)
        decoder.beam(cache, tables, search, K, live.addresses, (step, most), live.report)
        steps, ends, due, not_finite = live.report.tolist()
        if not_finite:
            raise NotFiniteScoresError(step + steps)
        ended += live.ended(ends)
        cache.slots += K * steps if step else 1 + K * (steps - 1)
        step += steps
        if due:
            left = int((live.done == 0).sum())
            if not left:
                return live.hypotheses(ended)
            # The last live sentences fill the holes of finished ones: copying all live ones costs more.
            (holes,) = live.done[:left].nonzero()
            fillers = left + (live.done[left:] == 0).nonzero()[0]
            cache.refill(holes, fillers, left)
            live.refill(holes, fillers, left)
        if step % CHECK_EVERY == 0 and live.bias is not None:
            live.compact(cache)


class _End(NamedTuple):
    place: int
    step: int
    parent: int
    cut: int
    log_probability: float


class _Live:
    """The live hypotheses of N sentences, in the layout of ``native/beam.h``.

    ``every_slot``: each hypothesis sees all slots, so that no record of them is needed.
    """

    def __init__(
        self, request: BeamRequest, longest_N: Array, width: int, vocabulary: int, every_slot: bool
    ) -> None:
        N, K = len(longest_N), request.beam_size
        self.sums = np.full((N, K), -np.inf, np.float32)
        self.sums[:, 0] = 0.0
        self.bias = None if every_slot else np.empty((N, K, 0), np.float32)
        self.scores = np.full((N, request.n_best), -np.inf, np.float32)
        self.count = np.zeros(N, np.int64)
        self.done = np.zeros(N, np.uint8)
        self.longest = np.array(longest_N, np.int64)
        self.place = np.arange(N)
        steps = int(longest_N.max()) + 1
        self.tokens = np.full((steps + 1, N, K), request.first, np.int64)
        self.parents = np.zeros_like(self.tokens)
        self.ends = np.empty((N * K * CHECK_EVERY, 4), np.int64)
        self.totals = np.empty(N * K * CHECK_EVERY, np.float32)
        self.report = np.zeros(4, np.int64)
        rows, top = N * K, min(K, vocabulary)
        floats = (rows * width, BLOCK_ROWS * vocabulary, rows, rows, rows * top)
        self._work: list[Array] = [np.empty(size, np.float32) for size in floats]
        self._work.append(np.empty(rows * top, np.int64))

    @property
    def addresses(self) -> tuple[int, ...]:
        """The kernel's arguments: sizes, and the tensors' addresses in its order."""
        parts: list[Array | None] = [self.sums, self.bias, self.scores, self.count, self.done]
        parts += [self.longest, self.place, self.tokens, self.parents, self.ends, self.totals, *self._work]
        return (len(self.done), self.tokens.shape[1], *map(native.array_address, parts))

    def ended(self, count: int) -> list[_End]:
        """The hypotheses that ended during the last call."""
        return list(map(_End, *self.ends[:count].T.tolist(), self.totals[:count].tolist()))

    def reserve(self, room: int) -> None:
        """Widen the record of slots to the cache's capacity."""
        if self.bias is not None and self.bias.shape[2] < room:
            wider = np.empty((*self.bias.shape[:2], room), np.float32)
            wider[..., : self.bias.shape[2]] = self.bias
            self.bias = wider

    def refill(self, holes: Array, fillers: Array, sentences: int) -> None:
        """Move the sentences ``fillers`` to ``holes``, and keep the first ``sentences``."""

        def refilled(part: Array) -> Array:
            part[holes] = part[fillers]
            return part[:sentences]

        self.sums, self.scores, self.count = (refilled(part) for part in (self.sums, self.scores, self.count))
        self.done, self.longest, self.place = (
            refilled(part) for part in (self.done, self.longest, self.place)
        )
        self.bias = None if self.bias is None else refilled(self.bias)

    def compact(self, cache: NativeCache) -> None:
        """Drop slots that no hypothesis uses, if that saves at least half of the memory."""
        assert self.bias is not None
        bias = self.bias[..., : cache.slots]
        slots_NM = slots_in_use(bias)
        if slots_NM is not None:
            cache.compact(slots_NM)
            self.bias = np.take_along_axis(bias, slots_NM[:, None], axis=2)

    def hypotheses(self, ends: Sequence[_End]) -> list[list[Ended]]:
        """Trace each finished hypothesis back through its parents."""
        ended: list[list[Ended]] = [[] for _ in range(self.tokens.shape[1])]
        place_E, step_E, row_E = (np.array([end[i] for end in ends], np.int64) for i in range(3))
        written = []
        for t in range(max(end.step for end in ends), 0, -1):
            written.append(self.tokens[t, place_E, row_E])
            row_E = np.where(step_E < t, row_E, self.parents[t, place_E, row_E])
        backwards = np.stack(written, axis=1).tolist() if written else [[] for _ in ends]
        for end, tokens in zip(ends, backwards, strict=True):
            forwards = tuple(tokens[len(tokens) - end.step :][::-1])
            ended[end.place].append(Ended(forwards, end.log_probability, bool(end.cut)))
        return ended


def slots_in_use(bias_NKS: Array) -> Array | None:
    """Slots that some hypothesis uses, in order, (N, M), M the most of any sentence; None: keep all slots."""
    used_NS = (bias_NKS == 0).any(1)
    most = int(used_NS.sum(1).max())
    if 2 * most > bias_NKS.shape[2]:
        return None
    in_use: Array = (~used_NS).argsort(axis=1, kind="stable")[:, :most]
    return in_use
