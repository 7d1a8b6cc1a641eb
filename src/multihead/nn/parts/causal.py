"""A stack of causal self-attention layers: a decoder without an encoder (Radford et al. 2018)."""

from collections.abc import Sequence

from torch import Tensor

from multihead.nn.decoding import LayerCache
from multihead.nn.description import EncoderLayerSpec, StackSpec, describe, describe_norm
from multihead.nn.layers import EncoderLayer, TransformerEncoder, cached_self_attention


class CausalStack(TransformerEncoder):
    """Layers of self-attention and feed-forward, with cached decoding.

    ``forward`` needs a causal mask. :meth:`step` computes the same, with earlier keys and values from caches.
    """

    def begin(self, rows: int) -> tuple[LayerCache, ...]:
        """Return every layer's empty cache for this number of rows; there is no source."""
        nothing = next(self.parameters()).new_empty(rows, 1, 0, 1)
        return tuple(LayerCache(nothing, nothing) for _ in self.layers)

    def step(self, x_RQd: Tensor, caches: Sequence[LayerCache], allowed: Tensor | None) -> Tensor:
        """The next Q positions of R rows, (R, Q, d_model); their keys and values join the caches.

        Args:
            x_RQd: the new positions.
            caches: one per layer.
            allowed: True = may attend, over all positions so far and the new ones; None: everything.
        """
        for layer, cache in zip(self.layers, caches, strict=True):
            assert isinstance(layer, EncoderLayer)
            x_RQd = _step(layer, x_RQd, cache, allowed)
        out: Tensor = self.norm(x_RQd)
        return out

    def describe(self) -> StackSpec:
        """The description that engines and exports read."""
        layers = tuple(describe(layer, EncoderLayerSpec) for layer in self.layers)
        return StackSpec(layers, describe_norm(self.norm))


def _step(layer: EncoderLayer, x_RQd: Tensor, cache: LayerCache, allowed: Tensor | None) -> Tensor:
    x_RQd = layer.around_attention(
        x_RQd, lambda y: cached_self_attention(layer.self_attention, y, cache, allowed)
    )
    out: Tensor = layer.around_feed_forward(x_RQd, layer.feed_forward)
    return out
