"""Attention of given outputs over their sources, in NumPy: the kernels of search keep no weights.

Equations as in ``nn.layers`` and ``nn.ssru``, for the descriptions that ``engines.native.layers`` accepts.
"""

from collections.abc import Callable, Sequence

import numpy as np

from multihead.description import (
    AttentionSpec,
    DecoderLayerSpec,
    EncoderDecoderSpec,
    FeedForwardSpec,
    LinearSpec,
    RecurrentDecoderLayerSpec,
    ResidualSpec,
    SSRUSpec,
)
from multihead.engines.native import windows
from multihead.engines.native.model import NativeModel, add_positions
from multihead.engines.native.parts import keys_of_every_head, layer_norm
from multihead.system.native_library import Array


class SourceAttention:
    """The decoder of a model, teacher-forced, one sentence at a time.

    Args:
        spec: the model's description, with float32 arrays.
        model: the same model, whose encoder reads.
    """

    def __init__(self, spec: EncoderDecoderSpec, model: NativeModel) -> None:
        self._layers, self._model = spec.decoder.layers, model

    def __call__(self, ids_BS: Array, lengths_B: Array, inputs: Sequence[Sequence[int]]) -> list[list[Array]]:
        """Return, for each sentence, the weights of each layer over the source, (H, T, S); rows sum to 1.

        Args:
            ids_BS: padded source ids.
            lengths_B: their true lengths.
            inputs: of each sentence, the decoder's T inputs, the begin symbol first.

        Raises:
            ValueError: a sentence exceeds the learned positions.
        """
        memory_BSd = self._model.read(ids_BS, lengths_B)
        rows = zip(memory_BSd, lengths_B.tolist(), inputs, strict=True)
        return [self._over_source(memory_Sd[:length], tokens) for memory_Sd, length, tokens in rows]

    def _over_source(self, memory_Sd: Array, tokens: Sequence[int]) -> list[Array]:
        model = self._model
        rows = np.array(tokens)
        if model.first is not None:
            rows[0] = model.first
        x_1Td = model.target_Vd[rows][None]
        add_positions(x_1Td, model.target_positions)
        x_Td, contexts = x_1Td[0], []
        for layer in self._layers:
            x_Td, weights_HTS = _decode(layer, x_Td, memory_Sd)
            contexts.append(weights_HTS)
        return contexts


def _decode(
    layer: DecoderLayerSpec | RecurrentDecoderLayerSpec, x_Td: Array, memory_Sd: Array
) -> tuple[Array, Array]:
    """Apply a layer; return its output and its weights over the source."""
    weights_HTS: list[Array] = []

    def over_source(y_Td: Array) -> Array:
        out_Td, weights = _attend(layer.cross_attention, y_Td, memory_Sd, causal=False)
        weights_HTS.append(weights)
        return out_Td

    def over_target(y_Td: Array) -> Array:
        if isinstance(layer, RecurrentDecoderLayerSpec):
            return _ssru(layer.cell, y_Td)
        return _attend(layer.self_attention, y_Td, y_Td, causal=True)[0]

    x_Td = _around(layer.around_self, x_Td, over_target)
    x_Td = _around(layer.around_cross, x_Td, over_source)
    network = layer.feed_forward
    x_Td = _around(layer.around_feed_forward, x_Td, lambda y_Td: _feed_forward(network, y_Td))
    return x_Td, weights_HTS[0]


def _around(residual: ResidualSpec, x_Td: Array, sublayer: Callable[[Array], Array]) -> Array:
    if residual.kind == "pre":
        added: Array = x_Td + sublayer(layer_norm(x_Td, residual.norm))
        return added
    return layer_norm(x_Td + sublayer(x_Td), residual.norm)


def _attend(spec: AttentionSpec, x_Td: Array, memory_Sd: Array, *, causal: bool) -> tuple[Array, Array]:
    """Return the output of an attention, (T, d_model), and its weights, (H, T, S)."""
    key, value = keys_of_every_head(spec)
    q_HTd = _heads(_linear(x_Td, spec.w_q), spec.heads)
    k_HSd, v_HSd = (_heads(_linear(memory_Sd, part), spec.heads) for part in (key, value))
    scores_HTS = q_HTd @ k_HSd.swapaxes(1, 2) * np.float32(spec.scale)
    if causal:
        apart_TS = np.arange(len(x_Td))[:, None] - np.arange(len(memory_Sd))
        before = windows.reach(spec.score.window)
        hidden_TS = (apart_TS < 0) | ((before >= 0) & (apart_TS > before))
        scores_HTS[:, hidden_TS] = -np.inf
    weights_HTS = np.exp(scores_HTS - scores_HTS.max(axis=-1, keepdims=True))
    weights_HTS /= weights_HTS.sum(axis=-1, keepdims=True)
    mixed_Td = (weights_HTS @ v_HSd).swapaxes(0, 1).reshape(len(x_Td), -1)
    return _linear(mixed_Td, spec.w_o), weights_HTS


def _ssru(cell: SSRUSpec, x_Td: Array) -> Array:
    forget_Td = 1 / (1 + np.exp(-_linear(x_Td, cell.w_f)))
    added_Td = (1 - forget_Td) * _linear(x_Td, cell.w)
    states, state_d = [], np.zeros(x_Td.shape[1], np.float32)
    for forget_d, added_d in zip(forget_Td, added_Td, strict=True):
        state_d = forget_d * state_d + added_d
        states.append(state_d)
    outputs_Td: Array = np.maximum(np.stack(states), 0)
    return outputs_Td


def _feed_forward(network: FeedForwardSpec, x_Td: Array) -> Array:
    return _linear(np.maximum(_linear(x_Td, network.w_1), 0), network.w_2)


def _linear(x: Array, spec: LinearSpec) -> Array:
    y: Array = x @ spec.weight.T
    return y if spec.bias is None else y + spec.bias


def _heads(x_Nd: Array, heads: int) -> Array:
    """(N, H d) -> (H, N, d)."""
    return x_Nd.reshape(len(x_Nd), heads, -1).swapaxes(0, 1)
