"""Stacks of layers: the encoder and the decoder (Vaswani et al. 2017, sec. 3.1)."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from multihead.nn.cache import LayerCache
from multihead.nn.feed_forward import FeedForward
from multihead.nn.layer_norm import LayerNorm
from multihead.nn.layers import DecoderLayer, EncoderLayer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.residual import PostNorm, ResidualKind


def _final_norm(d_model: int, residual: ResidualKind) -> nn.Module:
    return nn.Identity() if residual.ends_normalised else LayerNorm(d_model)


class TransformerEncoder(nn.Module):
    """num_layers encoder layers, one on the other.

    Args:
        num_layers: N of the paper.
        d_model: width of the residual stream.
        attention: makes a layer's attention.
        feed_forward: makes a layer's feed-forward network.
        residual: ``PostNorm`` (as published), ``PreNorm``, or one of ``nn.ablations``.
        dropout: of the residual connections.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        *,
        attention: Callable[[], MultiHeadAttention],
        feed_forward: Callable[[], FeedForward],
        residual: ResidualKind = PostNorm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(attention(), feed_forward(), lambda: residual(d_model, dropout))
            for _ in range(num_layers)
        )
        self.norm = _final_norm(d_model, residual)

    def forward(self, x_BNd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """(B, N, d_model) to the same; ``allowed`` broadcastable to (B, H, N, N)."""
        for layer in self.layers:
            x_BNd = layer(x_BNd, allowed)
        out: Tensor = self.norm(x_BNd)
        return out


class TransformerDecoder(nn.Module):
    """num_layers decoder layers, one on the other; arguments as :class:`TransformerEncoder`."""

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        *,
        attention: Callable[[], MultiHeadAttention],
        feed_forward: Callable[[], FeedForward],
        residual: ResidualKind = PostNorm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(attention(), attention(), feed_forward(), lambda: residual(d_model, dropout))
            for _ in range(num_layers)
        )
        self.norm = _final_norm(d_model, residual)

    def forward(
        self,
        x_BTd: Tensor,
        memory_BSd: Tensor,
        allowed: Tensor | None = None,
        memory_allowed: Tensor | None = None,
    ) -> Tensor:
        """Whole sequences at once; arguments as :meth:`DecoderLayer.forward`."""
        for layer in self.layers:
            x_BTd = layer(x_BTd, memory_BSd, allowed, memory_allowed)
        out: Tensor = self.norm(x_BTd)
        return out

    def begin(self, memory_BSd: Tensor) -> tuple[LayerCache, ...]:
        """Every layer's cache before the first step."""
        return tuple(layer.begin(memory_BSd) for layer in self._decoder_layers())

    def step(
        self,
        x_RQd: Tensor,
        caches: Sequence[LayerCache],
        allowed: Tensor | None,
        memory_allowed: Tensor | None,
    ) -> Tensor:
        """The next Q positions of R hypotheses; arguments as :meth:`DecoderLayer.step`."""
        for layer, cache in zip(self._decoder_layers(), caches, strict=True):
            x_RQd = layer.step(x_RQd, cache, allowed, memory_allowed)
        out: Tensor = self.norm(x_RQd)
        return out

    def _decoder_layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]
