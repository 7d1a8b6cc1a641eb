"""A linear layer, and several of one input."""

from torch import Tensor, nn

from multihead.nn.kernels.linear import linear
from multihead.nn.kernels.relu import relu
from multihead.nn.kernels.stacked_linear import products_for, stacked_linear


class Linear(nn.Linear):
    """PyTorch's, by the fastest kernel for what it is given."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) to (..., e)."""
        if self.bias is not None:
            own = [(self.weight, self.bias)]
            if (products := products_for(x, own)) is not None:
                return stacked_linear(x, own, products)[0]
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
    if len(plain) == len(layers) and (products := products_for(x, plain)) is not None:
        return stacked_linear(x, plain, products, with_relu=with_relu)
    found = tuple(layer(x) for layer in layers)
    return tuple(relu(out) for out in found) if with_relu else found
