"""A Transformer's whole search on a GPU: steps over tensors of fixed size, recorded as CUDA graphs."""

from collections import OrderedDict
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.batch import Source
from multihead.engines.cuda.beam import BeamState, Rules
from multihead.engines.fixed_decoder import SLOTS, FixedDecoder
from multihead.engines.layers import preparable
from multihead.models.transformer import Transformer
from multihead.nn import TokenEmbedding, masks
from multihead.nn.decoding import DecoderState
from multihead.search.distribution import not_finite
from multihead.search.hypotheses import Hypothesis
from multihead.search.request import BeamRequest
from multihead.search.stepper import Stepper

STRIDE = 16
"""Steps that one graph serves: it attends to all slots up to its last step's."""
LOOK = 4
"""Steps between two looks whether every sentence is done: to look is to wait for the GPU."""
MEMORY = 1 << 30
"""Bytes that searches may keep where there is no GPU to ask; of a GPU's, a quarter."""


class GPUTransformer:
    """A stepper (``search.Stepper``) with the weights that a model has now, and a whole search besides.

    Args:
        model: its steps are the model's own; it reads the source.
        target: embedding and positions of the target.
        decoder: laid out.
        dtype: of matrix products.
    """

    def __init__(
        self,
        model: Stepper[DecoderState],
        target: tuple[TokenEmbedding, nn.Module],
        decoder: FixedDecoder,
        dtype: torch.dtype,
    ) -> None:
        self.start, self.step = model.start, model.step
        self._model = cast(nn.Module, model)
        embedding, self._positions = target
        self._embedding = (embedding.weight.detach() * embedding.scale).to(dtype)
        self._decoder, self._dtype = decoder, dtype
        self._captured: OrderedDict[tuple[object, ...], _CapturedSearch] = OrderedDict()
        self._numbers = _memory(self._embedding.device) // self._embedding.element_size()
        """How many numbers all captured searches may keep together."""
        self._pool = torch.cuda.graph_pool_handle() if self._embedding.is_cuda else None

    def beam(self, source: Source, request: BeamRequest) -> list[list[Hypothesis]] | None:
        """A whole beam search (``search.request``); too many sentences for half of the memory are parted.

        Raises:
            UserError: scores that are no numbers.
        """
        steps = int(request.longest_B.max()) + 1
        places = _rounded(steps, STRIDE) * request.beam_size + _rounded(source.ids_BS.shape[1], SLOTS)
        most = max(1, self._numbers // 2 // (places * self._decoder.numbers_a_slot()))
        every = (source.ids_BS, source.lengths_B, request.longest_B)
        parts = zip(*(torch.split(tensor, most) for tensor in every), strict=True)
        return [
            found
            for ids_BS, lengths_B, longest_B in parts
            for found in self._searched(
                Source(ids_BS, lengths_B), longest_B, _rounded(steps, STRIDE), request
            )
        ]

    def _searched(
        self, source: Source, longest_B: Tensor, steps: int, request: BeamRequest
    ) -> list[list[Hypothesis]]:
        sentences, width = source.ids_BS.shape
        rows, width = _rounded(sentences, 1 << max(0, sentences.bit_length() - 4)), _rounded(width, SLOTS)
        key = (rows, width, steps, request.beam_size, request.n_best, Rules.of(request))
        if key not in self._captured:
            numbers = rows * (steps * request.beam_size + width) * self._decoder.numbers_a_slot()
            while self._captured and numbers + self._kept() > self._numbers:
                self._captured.popitem(last=False)
            self._captured[key] = _CapturedSearch(self, rows, width, steps, request, numbers)
        self._captured.move_to_end(key)
        search = self._captured[key]
        search.begin(source, longest_B, request.first)
        for step in range(steps):
            search.step(step)
            if (step + 1) % LOOK == 0 and search.over():
                break
        else:
            search.over()
        return search.state.hypotheses(sentences, request.n_best)

    def _kept(self) -> int:
        return sum(search.numbers for search in self._captured.values())

    # --- what a search asks for -------------------------------------------------------------------------

    def read(self, source: Source) -> Tensor:
        """The encoder's output, (B, S, d_model)."""
        allowed = masks.padding(source.lengths_B, source.ids_BS.shape[1])
        memory_BSd: Tensor = self._model.encode(source.ids_BS, allowed)  # type: ignore[operator]
        return memory_BSd

    def looked_up(self, tokens_BK: Tensor, step: Tensor, steps: int) -> Tensor:
        """What the decoder reads, (B, K, d_model)."""
        x_BKd = F.embedding(tokens_BK, self._embedding)
        table = cast(Tensor | None, self._positions.encodings(steps))  # type: ignore[operator]
        if table is None:
            return x_BKd
        # The steps after every sentence's last are for nothing, but must not read past the table.
        return x_BKd + table.index_select(0, step[None].clamp(max=len(table) - 1)).to(x_BKd.dtype)

    @property
    def decoder(self) -> FixedDecoder:
        """The layers."""
        return self._decoder

    @property
    def dtype(self) -> torch.dtype:
        """Of matrix products."""
        return self._dtype

    @property
    def pool(self) -> Any:
        """The memory that all graphs share: they can, since none reads what another has written there."""
        return self._pool


class _CapturedSearch:
    """Everything that a search of one size needs, in one place in memory; and its steps, recorded."""

    def __init__(
        self, model: GPUTransformer, rows: int, width: int, steps: int, request: BeamRequest, numbers: int
    ) -> None:
        self.numbers = numbers
        device = request.longest_B.device
        K = request.beam_size
        self._model, self._rules, self._steps = model, Rules.of(request), steps
        self.state = BeamState(rows, K, request.n_best, steps, device)
        self._memory = model.decoder.memory(rows, width, steps * K)
        self._bias_BKn = torch.zeros(rows, K, steps * K, dtype=model.dtype, device=device)
        self._source_bias_BS = torch.zeros(rows, width, dtype=model.dtype, device=device)
        self._longest_B = torch.zeros(rows, dtype=torch.long, device=device)
        self._ids_BS = torch.zeros(rows, width, dtype=torch.long, device=device)
        self._lengths_B = torch.ones(rows, dtype=torch.long, device=device)
        self._own_K = torch.arange(K, device=device)
        self._uses = 0
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def begin(self, source: Source, longest_B: Tensor, first: int) -> None:
        """Lay these sentences out."""
        self._uses += 1
        sentences, width = source.ids_BS.shape
        self._ids_BS.zero_()[:sentences, :width] = source.ids_BS
        self._lengths_B.fill_(1)[:sentences] = source.lengths_B
        self._longest_B.fill_(-1)[:sentences] = longest_B
        self.state.begin(first, self._longest_B)
        places_S = torch.arange(self._ids_BS.shape[1], device=self._ids_BS.device)
        self._source_bias_BS.zero_().masked_fill_(places_S >= self._lengths_B[:, None], -torch.inf)
        self._bias_BKn.fill_(-torch.inf)
        self._model.decoder.read(self._model.read(Source(self._ids_BS, self._lengths_B)), self._memory)

    def step(self, number: int) -> None:
        """Take a step; recorded where the search is used again, as recording takes as long as some steps."""
        last = min(self._steps, _rounded(number + 1, STRIDE))
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
        """Whether every sentence is done.

        Raises:
            UserError: scores that are no numbers.
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
        with torch.autocast(bias_BKn.device.type, enabled=False):  # everything is in its format already
            x_BKd = self._model.looked_up(state.last, state.step, self._steps)
            logits_RV = self._model.decoder.step(x_BKd, self._memory, slots_K, bias_BKn, self._source_bias_BS)
        state.advance(logits_RV, self._rules)


def _memory(device: torch.device) -> int:
    """Bytes that searches may keep."""
    return torch.cuda.get_device_properties(device).total_memory // 4 if device.type == "cuda" else MEMORY


def _rounded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def lay_out(model: nn.Module, dtype: torch.dtype) -> GPUTransformer | None:
    """This model as it is now, laid out for a GPU, which records a search's steps; None: it cannot be."""
    if not isinstance(model, Transformer):
        return None
    if model.settings.window or not preparable([*model.encoder.layers, *model.decoder.layers]):
        return None
    output = (model.output.weight, model.output_bias)
    decoder = FixedDecoder(model.decoder.layers, model.decoder.norm, output, dtype)
    return GPUTransformer(model, (model.target_embedding, model.target_positions), decoder, dtype)
