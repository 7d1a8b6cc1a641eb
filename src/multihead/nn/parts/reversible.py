"""Reversible layers and chunked feed-forward networks (Kitaev et al. 2020, sec. 3; Gomez et al. 2017).

Two streams: y_1 = x_1 + Attention(x_2), y_2 = x_2 + FeedForward(y_1) (eq. 9). The inputs follow from the
outputs (eq. 10), so that the backward pass recomputes a layer's activations and memory does not grow with
depth.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from multihead.nn.decoding import LayerCache
from multihead.nn.feed_forward import FeedForward
from multihead.nn.layers import cached_self_attention
from multihead.nn.modules import Dropout, LayerNorm
from multihead.nn.parts.uncompiled import exclude_from_compilation
from multihead.nn.residual import PreNorm, ResidualKind


class ReversibleLayer(nn.Module):
    """Attention and feed-forward network, each with a layer norm before it, over two streams (eq. 9)."""

    def __init__(self, self_attention: nn.Module, feed_forward: nn.Module, d_model: int, p: float) -> None:
        super().__init__()
        self.self_attention, self.feed_forward = self_attention, feed_forward
        self.attention_norm, self.feed_forward_norm = LayerNorm(d_model), LayerNorm(d_model)
        self.dropout = Dropout(p)

    def attend(self, x_BNd: Tensor, allowed: Tensor | None) -> Tensor:
        """The sum that the second stream adds to the first."""
        y = self.attention_norm(x_BNd)
        return self._wide(x_BNd, self.self_attention(y, y, allowed))

    def feed(self, x_BNd: Tensor) -> Tensor:
        """The sum that the first stream adds to the second."""
        return self._wide(x_BNd, self.feed_forward(self.feed_forward_norm(x_BNd)))

    def attend_step(self, x_RQd: Tensor, cache: LayerCache, allowed: Tensor | None) -> Tensor:
        """As :meth:`attend` at the next Q positions; their keys and values are cached."""
        y = self.attention_norm(x_RQd)
        return self._wide(x_RQd, cached_self_attention(self.self_attention, y, cache, allowed))  # type: ignore[arg-type]

    def _wide(self, like: Tensor, y: Tensor) -> Tensor:
        # The streams keep their format: what is subtracted must be what was added.
        out: Tensor = self.dropout(y).to(like.dtype)
        return out


class ReversibleStack(nn.Module):
    """A stack of reversible layers, in the place of ``TransformerEncoder`` or ``CausalStack``.

    Both streams begin with the input; the output is the layer norm of their mean.

    Args:
        num_layers: number of layers.
        d_model: width of each stream.
        attention: factory of a layer's attention.
        feed_forward: factory of a layer's feed-forward network.
        residual: only ``PreNorm``: what a norm has changed cannot be reversed.
        dropout: dropout of every sublayer's output.

    Raises:
        ValueError: another residual connection.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        *,
        attention: Callable[[], nn.Module],
        feed_forward: Callable[[], nn.Module],
        residual: ResidualKind = PreNorm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if residual is not PreNorm:
            raise ValueError("reversible layers are pre-norm")
        self.layers = nn.ModuleList(
            ReversibleLayer(attention(), feed_forward(), d_model, dropout) for _ in range(num_layers)
        )
        self.norm = LayerNorm(d_model)

    def forward(self, x_BNd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Apply all layers; (B, N, d_model) to the same; ``allowed``: mask of padding, (B, 1, 1, N)."""
        x_BNd = x_BNd if x_BNd.dtype == torch.float64 else x_BNd.float()
        return self._out(*_run(self._layers(), x_BNd, allowed))

    def begin(self, rows: int) -> tuple[LayerCache, ...]:
        """Return every layer's empty cache for this number of rows; there is no source."""
        nothing = next(self.parameters()).new_empty(rows, 1, 0, 1)
        return tuple(LayerCache(nothing, nothing) for _ in self.layers)

    def step(self, x_RQd: Tensor, caches: Sequence[LayerCache], allowed: Tensor | None) -> Tensor:
        """The next Q positions of R rows, (R, Q, d_model); arguments as of ``CausalStack.step``."""
        first = second = x_RQd if x_RQd.dtype == torch.float64 else x_RQd.float()
        for layer, cache in zip(self._layers(), caches, strict=True):
            first = first + layer.attend_step(second, cache, allowed)
            second = second + layer.feed(first)
        return self._out(first, second)

    def _out(self, first: Tensor, second: Tensor) -> Tensor:
        out: Tensor = self.norm((first + second) / 2)
        return out

    def _layers(self) -> list[ReversibleLayer]:
        return list(self.layers)  # type: ignore[arg-type]


# Not compiled: the backward pass runs the layers again.
@exclude_from_compilation
def _run(layers: list[ReversibleLayer], x: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    first, second = _Reversible.apply(layers, allowed, x, x, *parameters)  # type: ignore[no-untyped-call]
    return first, second


class _Reversible(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        layers: list[ReversibleLayer],
        allowed: Tensor | None,
        first: Tensor,
        second: Tensor,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        ctx.layers, ctx.allowed, ctx.parameters = layers, allowed, parameters
        ctx.same = _Conditions(first)
        ctx.states = []
        for layer in layers:
            ctx.states.append(_random_state(first))
            first = first + layer.attend(second, allowed)
            ctx.states.append(_random_state(first))
            second = second + layer.feed(first)
        ctx.save_for_backward(first.detach(), second.detach())
        return first, second

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        first, second = ctx.saved_tensors
        of_first, of_second = gradients
        of_parameters: dict[int, Tensor] = {}

        def reverse(module_call: Callable[[Tensor], Tensor], x: Tensor, g: Tensor, state: Any) -> Any:
            """Return what the call gave, and the gradient at its input; parameters' gradients are added."""
            with torch.enable_grad(), ctx.same.restore(), _at(state, x):
                inputs = x.detach().requires_grad_()
                out = module_call(inputs)
            trainable = [p for p in ctx.parameters if p.requires_grad]
            gradients_of_module = torch.autograd.grad(out, [inputs, *trainable], g, allow_unused=True)
            for parameter, gradient in zip(trainable, gradients_of_module[1:], strict=True):
                if gradient is not None:
                    before = of_parameters.get(id(parameter))
                    of_parameters[id(parameter)] = gradient if before is None else before + gradient
            return out.detach(), gradients_of_module[0]

        for layer in reversed(ctx.layers):
            state = ctx.states.pop()
            added, gradient = reverse(layer.feed, first, of_second, state)
            second, of_first = second - added, of_first + gradient
            state = ctx.states.pop()
            attend = partial(layer.attend, allowed=ctx.allowed)
            added, gradient = reverse(attend, second, of_first, state)
            first, of_second = first - added, of_second + gradient
        return None, None, of_first, of_second, *(of_parameters.get(id(p)) for p in ctx.parameters)


class _Conditions:
    """Autocast as it was in the forward pass."""

    def __init__(self, x: Tensor) -> None:
        self.device = x.device.type
        self.enabled = torch.is_autocast_enabled(self.device)
        self.dtype = torch.get_autocast_dtype(self.device)

    def restore(self) -> AbstractContextManager[object]:
        # Without the cache of cast weights, which the outer pass may have filled without gradients.
        return torch.autocast(self.device, dtype=self.dtype, enabled=self.enabled, cache_enabled=False)


def _random_state(x: Tensor) -> tuple[Tensor, Tensor | None]:
    on_gpu = torch.cuda.get_rng_state(x.device) if x.is_cuda else None
    return torch.get_rng_state(), on_gpu


class _at:  # noqa: N801  used as a function
    """Random numbers from a recorded state inside the block, then those of before again."""

    def __init__(self, state: tuple[Tensor, Tensor | None], x: Tensor) -> None:
        self.state, self.x = state, x

    def __enter__(self) -> None:
        self.before = _random_state(self.x)
        self._set(self.state)

    def __exit__(self, *error: object) -> None:
        self._set(self.before)

    def _set(self, state: tuple[Tensor, Tensor | None]) -> None:
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1], self.x.device)


class ChunkedFeedForward(FeedForward):
    """The feed-forward network on some positions at a time (sec. 3, "Chunking").

    The inner activations of only one chunk are in memory; the backward pass recomputes them.

    Args:
        d_model: width of input and output.
        d_ff: inner width.
        chunk: positions of a chunk.
        activation: see ``FeedForward``.
        dropout: see ``FeedForward``.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, chunk: int, activation: str = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, d_ff, activation=activation, dropout=dropout)
        self.chunk = chunk

    def forward(self, x: Tensor) -> Tensor:
        """Apply equation 2 to the last axis; (B, N, d_model)."""
        if x.shape[1] <= self.chunk:
            return super().forward(x)
        run = super().forward
        parts = torch.split(x, self.chunk, dim=1)
        if not torch.is_grad_enabled():
            return torch.cat([run(part) for part in parts], dim=1)
        return torch.cat([checkpoint(run, part, use_reentrant=False) for part in parts], dim=1)
