"""An encoder-decoder laid out for search on a CPU, by native kernels or in PyTorch."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.batch import Source
from multihead.description import EncoderDecoderSpec, PositionsSpec
from multihead.engines.attention import Float32Attention
from multihead.engines.layers import LaidOutDecoder, LaidOutEncoderLayer, StepDecoder
from multihead.engines.native.model import NativeModel
from multihead.engines.native.tensors import TensorDecoder, in_arrays
from multihead.engines.parts import constant_norm, scaled_embedding, target_embedding
from multihead.engines.shared_cache import SharedState
from multihead.nn import ops
from multihead.nn.decoding import left_padded, without_first
from multihead.search.outputs import Hypothesis
from multihead.search.plain import BeamRequest
from multihead.system.native import FORMATS


class LaidOutTransformer:
    """A stepper (``search.Stepper``) with a copy of a model's current weights.

    Args:
        spec: the model's description, accepted by ``engines.layers`` or ``engines.native``.
        dtype: of matrix products.
        native: compute the layers by native kernels.
    """

    def __init__(self, spec: EncoderDecoderSpec, dtype: torch.dtype, *, native: bool) -> None:
        self._native = NativeModel(in_arrays(spec), FORMATS[dtype]) if native else None
        self._target_positions = spec.target_positions
        self._decoder: StepDecoder
        if self._native is not None:
            self._target, self._first = torch.from_numpy(self._native.target_Vd), self._native.first
            self._decoder = TensorDecoder(self._native.decoder)
            return
        self._source, self._source_positions = scaled_embedding(spec.source, dtype), spec.source_positions
        self._target, self._first = target_embedding(spec, dtype)
        if spec.source.weight is spec.target.weight and spec.source.scale == spec.target.scale:
            self._source = self._target
        self._encoder_norm = None if spec.encoder.norm is None else constant_norm(spec.encoder.norm)
        attention = Float32Attention(dtype)
        self._encoder = [LaidOutEncoderLayer(layer, attention, dtype) for layer in spec.encoder.layers]
        self._decoder = LaidOutDecoder(spec.decoder, spec.output, attention, dtype)

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> SharedState:
        """Read the source and all of each prefix but its last token."""
        with self._as_laid_out():
            ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
            caches = self._decoder.begin(self._read(source), source.lengths_B)
            # If sentences begin in different columns, every step needs a bias.
            bias = None if shift_B is None else torch.zeros(len(prefixes), 1, 0, dtype=torch.float32)
            state = SharedState(caches, 1, 0, bias, shift_B)
            for column, ids_B in enumerate(ids_BQ.T):
                x_NKd, state = self._embed(ids_B, state)
                self._decoder.step(x_NKd, state.caches, state.bias)
                if shift_B is not None and state.bias is not None:
                    # A padding column attends to itself only, and nothing attends to it.
                    state.bias[:, 0, column].masked_fill_(column < shift_B, -torch.inf)
            return state

    def step(self, tokens_R: Tensor, state: SharedState) -> tuple[Tensor, SharedState]:
        """Append a token to every hypothesis; return the next one's logits, (R, V)."""
        with self._as_laid_out():
            x_NKd, state = self._embed(tokens_R, state)
            return self._decoder.logits(x_NKd, state.caches, state.bias), state

    def beam(self, source: Source, longest_B: Tensor, request: BeamRequest) -> list[list[Hypothesis]] | None:
        """Run a whole beam search by the native kernel (``search.request.Searcher``); see ``NativeModel``."""
        if self._native is None:
            return None
        ids_BS, lengths_B = source.ids_BS.numpy(), source.lengths_B.numpy()
        return self._native.beam(ids_BS, lengths_B, longest_B.numpy(), request)

    def _as_laid_out(self) -> AbstractContextManager[object]:
        # Native kernels ignore autocast, and entering a context costs as much as some kernels.
        return nullcontext() if self._native is not None else torch.autocast("cpu", enabled=False)

    def _read(self, source: Source) -> Tensor:
        """The encoder's output, (B, S, d_model)."""
        if self._native is not None:
            return torch.from_numpy(self._native.read(source.ids_BS.numpy(), source.lengths_B.numpy()))
        x_BSd = _position(F.embedding(source.ids_BS, self._source), self._source_positions, 0, None)
        for layer in self._encoder:
            x_BSd = layer(x_BSd, source.lengths_B)
        return x_BSd if self._encoder_norm is None else ops.layer_norm(x_BSd, self._encoder_norm)

    def _embed(self, tokens_R: Tensor, state: SharedState) -> tuple[Tensor, SharedState]:
        """The decoder's input, (N, K, d_model), and the state with new slots for it."""
        column, state = state.columns, state.advance()
        shift_R = None if state.shift_N is None else state.shift_N.repeat_interleave(state.rows)
        x_R1d = F.embedding(tokens_R, self._target)[:, None]
        if self._first is not None:
            x_R1d = without_first(x_R1d, column, shift_R)
        x_R1d = _position(x_R1d, self._target_positions, column, shift_R)
        return x_R1d.view(state.sentences, state.rows, -1), state


def _position(x_BNd: Tensor, positions: PositionsSpec, start: int, shift_B: Tensor | None) -> Tensor:
    """Add the encodings of positions start, start + 1, ...; row b is shifted by ``shift_B[b]`` columns.

    Raises:
        ValueError: a position is beyond the learned ones.
    """
    end = start + x_BNd.shape[1]
    furthest = end if shift_B is None else end - int(shift_B.min())
    table: Tensor | None = positions.encodings(furthest)
    if table is None:
        return x_BNd
    if furthest > len(table):
        raise ValueError(f"position {furthest} is beyond the {len(table)} learned positions")
    if shift_B is None:
        return x_BNd + table[start:end].to(x_BNd.dtype)
    rows = torch.arange(start, end) - shift_B[:, None]
    return x_BNd + table[rows.clamp_min(0)].to(x_BNd.dtype)
