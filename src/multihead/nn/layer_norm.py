"""Layer normalisation (Ba et al. 2016, eq. 4)."""

from torch import Tensor, nn

from multihead.nn.kernels.residual_norm import layer_norm


class LayerNorm(nn.LayerNorm):
    """PyTorch's, over the last axis, by the fastest kernel for what it is given.

    Args:
        d_model: width of what is normalised.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return layer_norm(x, self)


def set_epsilon(module: nn.Module, epsilon: float) -> None:
    """Let every layer norm in a module add this to the variance, so that it never divides by 0."""
    for part in module.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = epsilon
