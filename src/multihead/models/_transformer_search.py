"""A Transformer laid out for search on a CPU: the same function, 2 to 4 times as fast."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.batch import Source
from multihead.nn import TokenEmbedding
from multihead.nn.decoding import left_padded
from multihead.nn.kernels.packed_linear import PackedLinear
from multihead.nn.native_layers import suits
from multihead.nn.prepared import encoder_layers, step_decoder
from multihead.nn.shared_cache import SharedState


class PreparedTransformer:
    """A stepper (``search.Stepper``) with the weights that a model has now.

    Args:
        source: embedding and positions of the source.
        target: embedding and positions of the target.
        encoder: its layers, and the norm at the end.
        decoder: its layers, and the norm at the end.
        output: the output layer.
        bias_V: its bias, if it has one.
        dtype: of the matrices.
    """

    def __init__(
        self,
        *,
        source: tuple[TokenEmbedding, nn.Module],
        target: tuple[TokenEmbedding, nn.Module],
        encoder: tuple[nn.ModuleList, nn.Module],
        decoder: tuple[nn.ModuleList, nn.Module],
        output: TokenEmbedding,
        bias_V: Tensor | None,
        dtype: torch.dtype,
    ) -> None:
        # Native kernels pass float32 from layer to layer, whatever they multiply.
        self._native = all(map(suits, (*encoder[0], *decoder[0])))
        looked_up = torch.float32 if self._native else dtype
        self._source, self._source_positions = _scaled(source[0], looked_up), source[1]
        self._target, self._target_positions = _scaled(target[0], looked_up), target[1]
        if source[0] is target[0]:
            self._source = self._target
        self._encoder = encoder_layers(encoder[0], dtype, native=self._native)
        self._decoder = step_decoder(decoder[0], dtype, native=self._native)
        self._encoder_norm, self._decoder_norm = _final(encoder[1]), _final(decoder[1])
        linear = PackedLinear if self._native else _linear
        self._output: Callable[[Tensor], Tensor] = linear(output.weight, bias_V, dtype)

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> SharedState:
        """Read the source and all of each prefix but its last token."""
        with self._as_laid_out():
            ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
            memory_BSd = self._read(source)
            caches = self._decoder.begin(memory_BSd, source.lengths_B)
            # Where sentences begin in different columns, a bias is needed from the first on.
            bias = None if shift_B is None else torch.zeros(len(prefixes), 1, 0)
            state = SharedState(caches, 1, 0, bias, shift_B)
            for column, ids_B in enumerate(ids_BQ.T):
                _, state = self._advance(ids_B, state)
                if shift_B is not None and state.bias is not None:
                    # What stands before the prefix could look at itself only, and nobody looks at it.
                    state.bias[:, 0, column].masked_fill_(column < shift_B, -torch.inf)
            return state

    def step(self, tokens_R: Tensor, state: SharedState) -> tuple[Tensor, SharedState]:
        """Append one token to every hypothesis; logits of the next, (R, V)."""
        with self._as_laid_out():
            hidden_NKd, state = self._advance(tokens_R, state)
            return self._output(hidden_NKd.flatten(0, 1)), state

    def _as_laid_out(self) -> AbstractContextManager[object]:
        # Native kernels know of no autocast, and a context costs as much as some of them.
        return nullcontext() if self._native else torch.autocast("cpu", enabled=False)

    def _read(self, source: Source) -> Tensor:
        x_BSd = self._source_positions(F.embedding(source.ids_BS, self._source))
        for layer in self._encoder:
            x_BSd = layer(x_BSd, source.lengths_B)
        read: Tensor = self._encoder_norm(x_BSd)
        return read

    def _advance(self, tokens_R: Tensor, state: SharedState) -> tuple[Tensor, SharedState]:
        column, state = state.columns, state.stepped()
        shift_R = None if state.shift_N is None else state.shift_N.repeat_interleave(state.rows)
        x_R1d = self._target_positions(F.embedding(tokens_R, self._target)[:, None], column, shift_R)
        x_NKd = x_R1d.view(state.sentences, state.rows, -1)
        x_NKd = self._decoder.step(x_NKd, state.caches, state.bias)
        return self._decoder_norm(x_NKd), state


def _linear(weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    bias = None if bias is None else bias.detach().to(dtype)
    return partial(F.linear, weight=weight.detach().to(dtype), bias=bias)


def _final(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """The norm at the end of a stack, without what is there for gradients."""
    if not isinstance(norm, nn.LayerNorm):
        return norm
    weight, bias, epsilon = norm.weight.detach(), norm.bias.detach(), norm.eps
    return lambda x: F.layer_norm(x.float(), weight.shape, weight, bias, epsilon).to(x.dtype)


def _scaled(embedding: TokenEmbedding, dtype: torch.dtype) -> Tensor:
    return (embedding.weight.detach() * embedding.scale).to(dtype)
