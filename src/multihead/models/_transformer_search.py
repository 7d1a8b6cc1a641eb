"""A Transformer laid out for search on a CPU: the same function, 2 to 4 times as fast."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.batch import Source
from multihead.nn import TokenEmbedding
from multihead.nn.decoding import left_padded
from multihead.nn.kernels.packed_linear import PackedLinear
from multihead.nn.native_layers import suits
from multihead.nn.prepared import decoder_layers, encoder_layers
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
        self._source, self._source_positions = _scaled(source[0], dtype), source[1]
        self._target, self._target_positions = _scaled(target[0], dtype), target[1]
        if source[0] is target[0]:
            self._source = self._target
        # Both stacks or none: what passes between them is in float32 with the native kernels.
        self._native = all(map(suits, (*encoder[0], *decoder[0])))
        self._encoder = encoder_layers(encoder[0], dtype, native=self._native)
        self._decoder = decoder_layers(decoder[0], dtype, native=self._native)
        self._encoder_norm, self._decoder_norm = _final(encoder[1]), _final(decoder[1])
        weight = output.weight.detach().to(dtype)
        bias = None if bias_V is None else bias_V.detach().to(dtype)
        self._output: Callable[[Tensor], Tensor] = (
            PackedLinear(weight, bias_V) if self._native else partial(F.linear, weight=weight, bias=bias)
        )

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> SharedState:
        """Read the source and all of each prefix but its last token."""
        with torch.autocast("cpu", enabled=False):
            ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
            memory_BSd = self._read(source)
            caches = [layer.begin(memory_BSd, source.lengths_B) for layer in self._decoder]
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
        with torch.autocast("cpu", enabled=False):
            hidden_NKd, state = self._advance(tokens_R, state)
            return self._output(hidden_NKd.flatten(0, 1)), state

    def _read(self, source: Source) -> Tensor:
        x_BSd = self._source_positions(F.embedding(source.ids_BS, self._source))
        if self._native:
            x_BSd = x_BSd.float()
        for layer in self._encoder:
            x_BSd = layer(x_BSd, source.lengths_B)
        read: Tensor = self._encoder_norm(x_BSd)
        return read

    def _advance(self, tokens_R: Tensor, state: SharedState) -> tuple[Tensor, SharedState]:
        column, state = state.columns, state.stepped()
        shift_R = None if state.shift_N is None else state.shift_N.repeat_interleave(state.rows)
        x_R1d = self._target_positions(F.embedding(tokens_R, self._target)[:, None], column, shift_R)
        x_NKd = x_R1d.view(state.sentences, state.rows, -1)
        if self._native:
            x_NKd = x_NKd.float()
        for layer, cache in zip(self._decoder, state.caches, strict=True):
            x_NKd = layer.step(x_NKd, cache, state.bias)
        return self._decoder_norm(x_NKd), state


def _final(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """The norm at the end of a stack, without what is there for gradients."""
    if not isinstance(norm, nn.LayerNorm):
        return norm
    weight, bias, epsilon = norm.weight.detach(), norm.bias.detach(), norm.eps
    return lambda x: F.layer_norm(x.float(), weight.shape, weight, bias, epsilon).to(x.dtype)


def _scaled(embedding: TokenEmbedding, dtype: torch.dtype) -> Tensor:
    return (embedding.weight.detach() * embedding.scale).to(dtype)
