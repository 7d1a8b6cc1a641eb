"""Beam search by the native kernel, some steps a call (``native/beam.h`` tells what it gains).

Between the calls memory is seen to here: sentences that are done are dropped, and slots that nobody's past
needs any more; room is made for the next steps.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from multihead import native
from multihead.engines.native.cache import NativeCache
from multihead.engines.native.layers import NativeDecoder
from multihead.engines.shared_cache import LOOK, slots_in_use
from multihead.search.request import BeamRequest

WIDEST = 64
"""Most hypotheses of a sentence that the kernel keeps."""
TOGETHER = 64
"""Rows whose logits it makes at a time."""


class Ended(NamedTuple):
    """A hypothesis that was among its sentence's n best when it ended.

    Attributes:
        tokens: without begin and end symbol.
        log_probability: the end symbol's included.
        cut: it was made to end, and the model would rather have gone on.
    """

    tokens: tuple[int, ...]
    log_probability: float
    cut: bool


class NotFiniteError(ArithmeticError):
    """The model's scores are no numbers; ``step`` counts from 0."""

    def __init__(self, step: int) -> None:
        super().__init__(f"scores are not finite in step {step}")
        self.step = step


def beam(
    decoder: NativeDecoder,
    cache: NativeCache,
    embedding_Vd: Tensor,
    encodings: Callable[[int], Tensor | None],
    request: BeamRequest,
    longest_N: Tensor,
) -> list[list[Ended]]:
    """Return what has ended of each sentence, in the order of ending.

    Args:
        decoder: the model's.
        cache: of its ``begin``.
        embedding_Vd: of the target's tokens, scaled, float32.
        encodings: what the positions add, up to at least one.
        request: the search; its beam is at most ``WIDEST``.
        longest_N: the most tokens that each output may have.

    Raises:
        NotFiniteError: the model's scores are no numbers.
        ValueError: an output may be longer than the positions that were learned.
    """
    K = request.beam_size
    live = _Live(request, longest_N, embedding_Vd.shape[1], decoder.output.outputs)
    banned = torch.tensor(request.banned, dtype=torch.long)
    stop_at_first = request.stop == "first"
    most_and_end = K, request.n_best, decoder.output.outputs, request.eos_id, stop_at_first
    search = (*most_and_end, native.bits(request.alpha), len(banned), native.address(banned))
    found: list[_End] = []
    step = 0
    while True:
        most = LOOK - step % LOOK
        positions = encodings(step + most)
        if positions is not None:
            most = min(most, len(positions) - step)
            if not most:
                raise ValueError(f"position {step + 1} is beyond the {step} that were learned")
        cache.reserve(cache.slots + K * most)
        live.reserve(cache.room)
        assert live.bias is None or live.bias.shape[2] == cache.room
        looked_up = (embedding_Vd, None if positions is None else positions.detach().float().contiguous())
        decoder.beam(cache, looked_up, search, K, live.addresses, (step, most), live.report)
        made, ends, due, broken = live.report.tolist()
        if broken:
            raise NotFiniteError(step + made)
        found += live.ended(ends)
        cache.slots += K * made if step else 1 + K * (made - 1)
        step += made
        if due:
            left = int((live.done == 0).sum())
            if not left:
                return live.hypotheses(found)
            # Sentences that go on take the places of those that do not: copying all that go on costs more.
            (holes,) = live.done[:left].nonzero(as_tuple=True)
            fillers = left + (live.done[left:] == 0).nonzero(as_tuple=True)[0]
            cache.refill(holes, fillers, left)
            live.refill(holes, fillers, left)
        if step % LOOK == 0 and live.bias is not None:
            live.compact(cache)


class _End(NamedTuple):
    place: int
    step: int
    parent: int
    cut: int
    log_probability: float


class _Live:
    """What ``native/beam.h`` calls hypotheses: N sentences of the ``places`` that there were."""

    def __init__(self, request: BeamRequest, longest_N: Tensor, width: int, vocabulary: int) -> None:
        N, K = len(longest_N), request.beam_size
        self.sums = torch.full((N, K), -torch.inf, dtype=torch.float32)
        self.sums[:, 0] = 0.0
        self.bias = None if K == 1 else self.sums.new_empty(N, K, 0)
        self.scores = self.sums.new_full((N, request.n_best), -torch.inf)
        self.count = torch.zeros(N, dtype=torch.long)
        self.done = torch.zeros(N, dtype=torch.uint8)
        self.longest = longest_N.long().clone()
        self.place = torch.arange(N)
        steps = int(longest_N.max()) + 1
        self.tokens = torch.full((steps + 1, N, K), request.first)
        self.parents = torch.zeros_like(self.tokens)
        self.ends = torch.empty(N * K * LOOK, 4, dtype=torch.long)
        self.totals = self.sums.new_empty(N * K * LOOK)
        self.report = torch.zeros(4, dtype=torch.long)
        rows, few = N * K, min(K, vocabulary)
        floats = (rows * width, TOGETHER * vocabulary, rows, rows, rows * few)
        self._work = [self.sums.new_empty(size) for size in floats]
        self._work.append(torch.empty(rows * few, dtype=torch.long))

    @property
    def addresses(self) -> tuple[int, ...]:
        """In the kernel's order."""
        parts = (
            *(self.sums, self.bias, self.scores, self.count, self.done, self.longest, self.place),
            *(self.tokens, self.parents, self.ends, self.totals, *self._work),
        )
        return (len(self.done), self.tokens.shape[1], *map(native.address, parts))

    def ended(self, count: int) -> list[_End]:
        """What the last call has set aside."""
        return list(map(_End, *self.ends[:count].T.tolist(), self.totals[:count].tolist()))

    def reserve(self, room: int) -> None:
        """Have as much room for who sees which slot as the cache has for slots."""
        if self.bias is not None and self.bias.shape[2] < room:
            wider = self.bias.new_empty(*self.bias.shape[:2], room)
            wider[..., : self.bias.shape[2]] = self.bias
            self.bias = wider

    def refill(self, holes: Tensor, fillers: Tensor, sentences: int) -> None:
        """Go on with the first so many sentences, where fillers have taken the places of holes."""

        def refilled(part: Tensor) -> Tensor:
            part[holes] = part[fillers]
            return part[:sentences]

        self.sums, self.scores, self.count = map(refilled, (self.sums, self.scores, self.count))
        self.done, self.longest, self.place = map(refilled, (self.done, self.longest, self.place))
        self.bias = None if self.bias is None else refilled(self.bias)

    def compact(self, cache: NativeCache) -> None:
        """Drop slots that are nobody's past any more, where that makes the memory much smaller."""
        assert self.bias is not None
        bias = self.bias[..., : cache.slots]
        slots_NM = slots_in_use(bias)
        if slots_NM is not None:
            cache.compact(slots_NM)
            self.bias = bias.gather(2, slots_NM[:, None].expand(-1, bias.shape[1], -1))

    def hypotheses(self, ends: Sequence[_End]) -> list[list[Ended]]:
        """Walk back from where each ended."""
        found: list[list[Ended]] = [[] for _ in range(self.tokens.shape[1])]
        place_E, step_E, row_E = (torch.tensor([end[i] for end in ends], dtype=torch.long) for i in range(3))
        written = []
        for t in range(max(end.step for end in ends), 0, -1):
            written.append(self.tokens[t, place_E, row_E])
            row_E = torch.where(step_E < t, row_E, self.parents[t, place_E, row_E])
        backwards = torch.stack(written, dim=1).tolist() if written else [[] for _ in ends]
        for end, tokens in zip(ends, backwards, strict=True):
            forwards = tuple(tokens[len(tokens) - end.step :][::-1])
            found[end.place].append(Ended(forwards, end.log_probability, bool(end.cut)))
        return found
