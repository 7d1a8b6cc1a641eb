"""The Transformer's layers in search, each computed by one native kernel (``native/search_layers.h``).

Equations as in ``nn.layers``, layout as in ``engines.layers``. In PyTorch, a small model's step is a hundred
calls with little work each. Here it is one call per layer, and a block of sentences stays in the processor's
cache from the first product to the last.
"""

import ctypes
from collections.abc import Sequence

import numpy as np

from multihead.description import (
    AttentionSpec,
    DecoderLayerSpec,
    EncoderDecoderSpec,
    EncoderLayerSpec,
    LinearSpec,
    NormSpec,
    RecurrentDecoderLayerSpec,
    StackSpec,
)
from multihead.engines.accepting import declines_attention
from multihead.engines.native import windows
from multihead.engines.native.cache import NativeCache
from multihead.engines.native.packed_linear import PackedLinear
from multihead.engines.native.parts import keys_of_every_head
from multihead.engines.native.screen import Screen
from multihead.system import native_library as native
from multihead.system.native_library import Array, Format

AnyLayerSpec = EncoderLayerSpec | DecoderLayerSpec | RecurrentDecoderLayerSpec
ABSENT = (0,) * 5
"""The description of a matrix that a layer lacks."""


def declines(spec: EncoderDecoderSpec) -> str | None:
    """Return why the native kernels cannot compute a model; None: they can."""
    if not native.level():
        return "there are no native kernels here"
    if (reason := declines_attention(spec) or windows.declines(spec)) is not None:
        return reason
    for layer in spec.layers:
        if layer.feed_forward.activation != "relu":
            return f"the activation is {layer.feed_forward.activation}, not relu"
        if len({residual.kind for residual in layer.residuals}) > 1:
            return "a layer mixes pre- and post-norm"
        if isinstance(layer, RecurrentDecoderLayerSpec):
            ((heads, d_model, d_k, d_v, _),) = _widths(layer)
            if not heads * d_k == heads * d_v == d_model:
                return "the state of an SSRU does not fit into the heads of the attention over the source"
    for stack in (spec.encoder, spec.decoder):
        if len({widths for layer in stack.layers for widths in _widths(layer)}) > 1:
            return "layers or attentions of one stack differ in width"
        if len({layer.residuals[0].kind for layer in stack.layers}) > 1:
            return "a stack mixes pre- and post-norm layers"
    return None


def _widths(layer: AnyLayerSpec) -> list[tuple[int, ...]]:
    """(H, d_model, d_k, d_v, d_ff) of each attention of a layer; the kernels need them to agree."""
    attentions = [] if isinstance(layer, RecurrentDecoderLayerSpec) else [layer.self_attention]
    if not isinstance(layer, EncoderLayerSpec):
        attentions.append(layer.cross_attention)
    d_ff, d_model = layer.feed_forward.w_1.weight.shape
    return [(attention.heads, d_model, attention.d_k, attention.d_v, d_ff) for attention in attentions]


class _Layer:
    """A layer in the kernels' format: widths, matrices, norms.

    Args:
        layer: its description.
        matrices: its packed matrices, in the kernel's order; None for one that it lacks.
    """

    def __init__(self, layer: AnyLayerSpec, matrices: Sequence[PackedLinear | None]) -> None:
        self.widths = _widths(layer)[0]
        norms = [_Norm(residual.norm) for residual in layer.residuals]
        self._kept = matrices, norms
        description = (
            *(number for matrix in matrices for number in (matrix.description if matrix else ABSENT)),
            layer.residuals[0].kind == "pre",
            _reach(layer)
            if isinstance(layer, EncoderLayerSpec)
            else isinstance(layer, RecurrentDecoderLayerSpec),
            *(number for norm in norms for number in norm.description),
        )
        self.description: tuple[int, ...] = description


class _Norm:
    """A copy of a layer norm in the kernels' format."""

    def __init__(self, norm: NormSpec) -> None:
        self._kept = [np.array(part, np.float32) for part in (norm.weight, norm.bias)]
        self.description = (*map(native.array_address, self._kept), native.bits(norm.epsilon))


class NativeEncoderLayer:
    """An encoder layer for inference.

    Args:
        layer: its description; the weights are copied.
        number_format: the matrices' format.
    """

    def __init__(self, layer: EncoderLayerSpec, number_format: Format) -> None:
        self._format: Format = number_format
        network = layer.feed_forward
        matrices = [
            *_self_attention(layer.self_attention, number_format),
            PackedLinear.of(number_format, network.w_1),
            PackedLinear.of(number_format, network.w_2),
        ]
        self._layer = _Layer(layer, matrices)
        self._description = native.integers(self._layer.description)

    def __call__(self, x_NSd: Array, lengths_N: Array) -> Array:
        """Apply the layer to (N, S, d_model), float32, in place; ``lengths_N``: true lengths."""
        N, S, _ = x_NSd.shape
        assert x_NSd.flags.c_contiguous
        assert S > 0
        native.call(
            "encode_cells",
            self._format,
            x_NSd,
            self._description,
            (N, S, *self._layer.widths),
            np.ascontiguousarray(lengths_N, np.int64),
        )
        return x_NSd


class NativeDecoder:
    """A stack of decoder layers, its final norm and the output layer, for single steps.

    Args:
        stack: layers that differ only in their weights, which are copied; see :func:`declines`.
        output: the output layer.
        number_format: the format of matrices and cached keys and values; with int8, these are in bf16.
    """

    def __init__(self, stack: StackSpec, output: LinearSpec, number_format: Format) -> None:
        self._format: Format = number_format
        layers = stack.layers
        self._layers = [_decoder_layer(layer, number_format) for layer in layers]
        self.reach = _reach(layers[0])
        """Positions before its own that a position sees; negative: all."""
        sources = [keys_of_every_head(layer.cross_attention) for layer in layers]
        self._w_kv = [PackedLinear.of(number_format, *keys_values) for keys_values in sources]
        self.output = PackedLinear(output.weight, output.bias, number_format)
        screened = Screen.pays(len(output.weight), 1, number_format)
        self._screen = Screen(output.weight, output.bias, number_format) if screened else None
        self._norm = None if stack.norm is None else _Norm(stack.norm)
        self._in_layers = native.integers(
            tuple(number for layer in self._layers for number in layer.description)
        )
        in_norm = self._norm.description if self._norm else (0, 0, 0)
        self._description = native.integers(
            (ctypes.addressof(self._in_layers), len(layers), *in_norm, *self.output.description)
        )
        self._widths = self._layers[0].widths
        self._heads, _, self._d_k, self._d_v, _ = self._widths

    def begin(self, memory_NSd: Array, lengths_N: Array) -> list[NativeCache]:
        """The cache before the first step, one for all layers, with the source's keys and values."""
        N, S, _ = memory_NSd.shape
        memory_NSd, lengths_N = np.ascontiguousarray(memory_NSd), np.ascontiguousarray(lengths_N, np.int64)
        heads = len(self._w_kv), N, self._heads
        cache = NativeCache(heads, self._d_k, self._d_v, S, lengths_N, self._format)
        for layer, w_kv in enumerate(self._w_kv):
            sizes = (N, S, *self._widths)
            native.call("keep_source", self._format, memory_NSd, layer, w_kv.description, sizes, cache.source)
        return [cache]

    def step(self, x_NKd: Array, caches: Sequence[NativeCache], bias_NKS: Array | None) -> None:
        """One position of each sentence's K hypotheses; their keys and values are appended to the cache.

        Args:
            x_NKd: (N, K, d_model), float32; overwritten.
            caches: from ``begin``.
            bias_NKS: 0 or -infinity for each slot, the new ones included, (N, K, slots); None: 0.
        """
        self._decode(x_NKd, caches, bias_NKS, None)

    def logits(self, x_NKd: Array, caches: Sequence[NativeCache], bias_NKS: Array | None) -> Array:
        """Take a step and return the logits of each hypothesis's next token, (N * K, V)."""
        N, K, _ = x_NKd.shape
        logits_RV = np.empty((N * K, self.output.outputs), np.float32)
        self._decode(x_NKd, caches, bias_NKS, logits_RV)
        return logits_RV

    def beam(
        self,
        cache: NativeCache,
        tables: tuple[Array, Array | None],
        search: tuple[int, ...],
        k: int,
        hypotheses: tuple[int, ...],
        steps: tuple[int, int],
        report: Array,
    ) -> None:
        """Run several steps of a beam search (``native/beam.h`` documents the arguments).

        Args:
            cache: from ``begin``, with room for the steps.
            tables: embeddings (V, d_model), and positional encodings or None, float32.
            search: parameters of the search; the banned tokens by their address.
            k: number of top-k tokens of each hypothesis.
            hypotheses: sizes and addresses of the live hypotheses.
            steps: the first step, and the maximum number of steps.
            report: receives the results.
        """
        screen = self._screen if Screen.pays(self.output.outputs, k, self._format) else None
        native.call(
            "search_windows",
            self._format,
            self._description,
            (cache.sentences, 1, *self._widths),
            cache.own,
            cache.source,
            cache.lengths_N,
            *tables,
            screen.description if screen else Screen.NONE,
            search,
            hypotheses,
            *steps,
            report,
        )

    def _decode(
        self,
        x_NKd: Array,
        caches: Sequence[NativeCache],
        bias_NKS: Array | None,
        logits_RV: Array | None,
    ) -> None:
        N, K, _ = x_NKd.shape
        (cache,) = caches
        cache.slots += K
        if 0 <= self.reach < cache.slots:
            bias_NKS = windows.within(bias_NKS, (N, K, cache.slots), self.reach)
        assert x_NKd.flags.c_contiguous
        assert bias_NKS is None or (bias_NKS.flags.c_contiguous and bias_NKS.shape == (N, K, cache.slots))
        cache.reserve(cache.slots)
        native.call(
            "decode_cells",
            self._format,
            x_NKd,
            self._description,
            (N, K, *self._widths),
            cache.own,
            cache.source,
            bias_NKS,
            cache.slots,
            cache.lengths_N,
            logits_RV,
        )


def _reach(layer: AnyLayerSpec) -> int:
    if isinstance(layer, RecurrentDecoderLayerSpec):
        return windows.ALL
    return windows.reach(layer.self_attention.score.window)


def _self_attention(spec: AttentionSpec, number_format: Format) -> list[PackedLinear]:
    """W^Q, W^K and W^V as one matrix, with the scale of the scores folded into W^Q; and W^O."""
    w_qkv = PackedLinear.of(number_format, spec.w_q, *keys_of_every_head(spec), first=spec.scale)
    return [w_qkv, PackedLinear.of(number_format, spec.w_o)]


def _decoder_layer(layer: DecoderLayerSpec | RecurrentDecoderLayerSpec, number_format: Format) -> _Layer:
    source, network = layer.cross_attention, layer.feed_forward
    first: list[PackedLinear | None]
    if isinstance(layer, RecurrentDecoderLayerSpec):
        first = [PackedLinear.of(number_format, layer.cell.w, layer.cell.w_f), None]
    else:
        first = [*_self_attention(layer.self_attention, number_format)]
    matrices = [
        *first,
        PackedLinear.of(number_format, source.w_q, first=source.scale),
        PackedLinear.of(number_format, source.w_o),
        PackedLinear.of(number_format, network.w_1),
        PackedLinear.of(number_format, network.w_2),
    ]
    return _Layer(layer, matrices)
