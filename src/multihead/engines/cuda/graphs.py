"""A Transformer's whole beam search on a GPU: steps over fixed-size tensors, captured as CUDA graphs."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.batch import Source
from multihead.engines.attention import FusedAttention
from multihead.engines.cuda.beam import BeamState
from multihead.engines.cuda.cache import SLOTS, FixedMemory, numbers_per_slot
from multihead.engines.layers import LaidOutDecoder
from multihead.engines.parts import target_embedding
from multihead.nn import masks
from multihead.nn.description import EncoderDecoderSpec
from multihead.search.hypotheses import Hypothesis
from multihead.search.plain import not_finite
from multihead.search.request import BeamRequest

STRIDE = 16
"""Steps per graph: each of them attends to all slots up to the last one's."""
CHECK_EVERY = 4
"""Steps between checks whether every sentence is finished: a check waits for the GPU."""
MEMORY = 1 << 30
"""Memory limit of captured searches without a GPU, in bytes; with one, a quarter of its memory."""


class Encoding(Protocol):
    """A model with an encoder and its own steps (``search.Stepper``)."""

    def encode(self, source_BS: Tensor, allowed: Tensor | None) -> Tensor:
        """The encoder's output, (B, S, d_model)."""
        ...

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> Any:
        """See ``search.Stepper``."""
        ...

    def step(self, tokens_R: Tensor, state: Any) -> tuple[Tensor, Any]:
        """See ``search.Stepper``."""
        ...


class GraphTransformer:
    """A stepper (``search.Stepper``) that runs a plain beam search as captured steps.

    Args:
        model: computes the encoder, and the steps of every other search.
        spec: its description, accepted by ``engines.layers``.
        dtype: of matrix products.
    """

    def __init__(self, model: Encoding, spec: EncoderDecoderSpec, dtype: torch.dtype) -> None:
        self.start, self.step = model.start, model.step
        self._model, self.stack, self._positions = model, spec.decoder, spec.target_positions
        self._embedding, self.first = target_embedding(spec, dtype)
        self.decoder = LaidOutDecoder(spec.decoder, spec.output, FusedAttention(), dtype)
        self.dtype = dtype
        self._captured: OrderedDict[tuple[object, ...], _CapturedSearch] = OrderedDict()
        self._numbers = _memory(self._embedding.device) // self._embedding.element_size()
        """Limit of the numbers that all captured searches store together."""
        self.pool: Any = torch.cuda.graph_pool_handle() if self._embedding.is_cuda else None
        """Memory pool of all graphs: no graph reads another's results from it."""

    def beam(self, source: Source, longest_B: Tensor, request: BeamRequest) -> list[list[Hypothesis]] | None:
        """Run a whole beam search (``search.request.Searcher``), in parts of at most half of the memory.

        Raises:
            UserError: the model's scores are not finite.
        """
        if request.constrained:
            return None
        steps = int(longest_B.max()) + 1
        slots = _round(steps, STRIDE) * request.beam_size + _round(source.ids_BS.shape[1], SLOTS)
        most = max(1, self._numbers // 2 // (slots * numbers_per_slot(self.stack)))
        every = (source.ids_BS, source.lengths_B, longest_B)
        parts = zip(*(torch.split(tensor, most) for tensor in every), strict=True)
        return [
            hypotheses
            for ids_BS, lengths_B, longest in parts
            for hypotheses in self._run_search(
                Source(ids_BS, lengths_B), longest, _round(steps, STRIDE), request
            )
        ]

    def _run_search(
        self, source: Source, longest_B: Tensor, steps: int, request: BeamRequest
    ) -> list[list[Hypothesis]]:
        sentences, width = source.ids_BS.shape
        rows, width = _round(sentences, 1 << max(0, sentences.bit_length() - 4)), _round(width, SLOTS)
        key = (rows, width, steps, request)
        if key not in self._captured:
            numbers = rows * (steps * request.beam_size + width) * numbers_per_slot(self.stack)
            while self._captured and numbers + self._in_use() > self._numbers:
                self._captured.popitem(last=False)
            self._captured[key] = _CapturedSearch(self, rows, width, steps, request, numbers)
        self._captured.move_to_end(key)
        search = self._captured[key]
        search.begin(source, longest_B)
        for step in range(steps):
            search.step(step)
            if (step + 1) % CHECK_EVERY == 0 and search.over():
                break
        else:
            search.over()
        return search.state.hypotheses(sentences, request.n_best)

    def _in_use(self) -> int:
        return sum(search.numbers for search in self._captured.values())

    # --- used by a captured search ----------------------------------------------------------------------

    def read(self, source: Source) -> Tensor:
        """The encoder's output, (B, S, d_model)."""
        memory_BSd = self._model.encode(
            source.ids_BS, masks.padding(source.lengths_B, source.ids_BS.shape[1])
        )
        return memory_BSd.to(self.dtype)

    def embed(self, tokens_BK: Tensor, step: Tensor, steps: int) -> Tensor:
        """The decoder's input, (B, K, d_model)."""
        x_BKd = F.embedding(tokens_BK, self._embedding)
        table: Tensor | None = self._positions.encodings(steps)
        if table is None:
            return x_BKd
        # Steps after the last sentence's end have no effect, but must not read past the table.
        return x_BKd + table.index_select(0, step[None].clamp(max=len(table) - 1)).to(x_BKd.dtype)


class _CapturedSearch:
    """The fixed tensors of a search of one size, and its captured steps."""

    def __init__(
        self, model: GraphTransformer, rows: int, width: int, steps: int, request: BeamRequest, numbers: int
    ) -> None:
        self.numbers = numbers
        K, device = request.beam_size, model.decoder.device
        self._model, self._request, self._steps = model, request, steps
        self.state = BeamState(rows, K, request.n_best, steps, device)
        self._memory = FixedMemory(
            model.stack, sentences=rows, width=width, slots=steps * K, dtype=model.dtype, device=device
        )
        self._bias_BKn = torch.zeros(rows, K, steps * K, dtype=model.dtype, device=device)
        self._longest_B = torch.zeros(rows, dtype=torch.long, device=device)
        self._ids_BS = torch.zeros(rows, width, dtype=torch.long, device=device)
        self._lengths_B = torch.ones(rows, dtype=torch.long, device=device)
        self._own_K = torch.arange(K, device=device)
        self._uses = 0
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def begin(self, source: Source, longest_B: Tensor) -> None:
        """Read these sentences into the buffers."""
        self._uses += 1
        sentences, width = source.ids_BS.shape
        self._ids_BS.zero_()[:sentences, :width] = source.ids_BS
        self._lengths_B.fill_(1)[:sentences] = source.lengths_B
        self._longest_B.fill_(-1)[:sentences] = longest_B
        first = self._request.first if self._model.first is None else self._model.first
        self.state.begin(first, self._longest_B)
        positions_S = torch.arange(self._ids_BS.shape[1], device=self._ids_BS.device)
        padding_BS = positions_S >= self._lengths_B[:, None]
        self._memory.source_bias_BS.zero_().masked_fill_(padding_BS, -torch.inf)
        self._bias_BKn.fill_(-torch.inf)
        memory_BSd = self._model.read(Source(self._ids_BS, self._lengths_B))
        with torch.autocast(memory_BSd.device.type, enabled=False):
            self._memory.read(self._model.decoder, memory_BSd)

    def step(self, number: int) -> None:
        """Take a step; capture it on the second use only, as capturing costs as much as several steps."""
        last = min(self._steps, _round(number + 1, STRIDE))
        if last in self._graphs:
            self._graphs[last].replay()
        elif self._uses == 1 or not self._ids_BS.is_cuda:
            self._take(last)
        else:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._model.pool):
                self._take(last)
            self._graphs[last] = graph
            graph.replay()

    def over(self) -> bool:
        """Return whether every sentence is finished.

        Raises:
            UserError: the model's scores are not finite.
        """
        over, finite, step = torch.stack(
            [self.state.over.long(), self.state.finite.long(), self.state.step]
        ).tolist()
        if not finite:
            raise not_finite(step - 1)
        return bool(over)

    def _take(self, last: int) -> None:
        state, K = self.state, len(self._own_K)
        slots_K = state.step * K + self._own_K
        bias_BKn = self._bias_BKn[:, :, : last * K]
        ancestors = state.parents[..., None].expand_as(bias_BKn)
        bias_BKn.copy_(bias_BKn.gather(1, ancestors))
        bias_BKn.scatter_(2, slots_K[:, None].expand(len(bias_BKn), K, 1), 0.0)
        with torch.autocast(bias_BKn.device.type, enabled=False):  # tensors already have their formats
            x_BKd = self._model.embed(state.last, state.step, self._steps)
            self._memory.place(slots_K, last * K)
            logits_RV = self._model.decoder.logits(x_BKd, self._memory.caches, bias_BKn)
        state.advance(logits_RV, self._request)


def _memory(device: torch.device) -> int:
    """Memory limit of captured searches, in bytes."""
    return torch.cuda.get_device_properties(device).total_memory // 4 if device.type == "cuda" else MEMORY


def _round(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
