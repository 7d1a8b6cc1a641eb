"""A linear layer, and several of one input."""

from torch import Tensor, nn

from multihead.nn.kernels.linear import linear
from multihead.nn.kernels.relu import relu
from multihead.nn.kernels.stacked_linear import stacked_linear, suits


class Linear(nn.Linear):
    """PyTorch's, by the fastest kernel for what it is given."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) to (..., e)."""
        if self.bias is not None and suits(x, [(self.weight, self.bias)]):
            return stacked_linear(x, [(self.weight, self.bias)])[0]
        return linear(x, self.weight, self.bias)


def all_linear(x: Tensor, *layers: nn.Module, with_relu: bool = False) -> tuple[Tensor, ...]:
    """Every layer's x W^T + b, or max(0, x W^T + b), as one product where that is faster.

    Args:
        x: (..., d).
        layers: what is applied to it; each gives (..., e) of its own.
        with_relu: whether ReLU follows.
    """
    plain = [
        (layer.weight, layer.bias)
        for layer in layers
        # Whoever put another layer here, or a hook, wants it called.
        if type(layer) is Linear and layer.bias is not None and not layer._forward_hooks
    ]
    if len(plain) == len(layers) and suits(x, plain):
        return stacked_linear(x, plain, with_relu=with_relu)
    found = tuple(layer(x) for layer in layers)
    return tuple(relu(out) for out in found) if with_relu else found
