"""Position-wise feed-forward network, max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, eq. 2)."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import description
from multihead.nn.description import FeedForwardSpec, UndescribedError
from multihead.nn.modules import Dropout, Linear, all_linear
from multihead.nn.ops import gelu_tanh, relu

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": relu,
    "gelu": F.gelu,
    "gelu_tanh": gelu_tanh,
    # x sigmoid(x) (Elfwing et al. 2018, eq. 5), also called swish.
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2 at every position (eq. 2), or with another activation.

    Args:
        d_model: width of input and output.
        d_ff: inner width.
        activation: "relu" (the paper), "gelu", "gelu_tanh" (an approximation of GELU), or "silu".
        dropout: probability of dropping an inner unit (the paper: 0).
        bias: whether the matrices have biases.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.w_1 = Linear(d_model, d_ff, bias=bias)
        self.w_2 = Linear(d_ff, d_model, bias=bias)
        self.dropout = Dropout(dropout)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """Apply equation 2 to the last axis; (..., d_model)."""
        if self.activation is relu:
            (inner,) = all_linear(x, self.w_1, with_relu=True)
        else:
            inner = self.activation(self.w_1(x))
        transformed: Tensor = self.w_2(self.dropout(inner))
        return transformed

    def describe(self) -> FeedForwardSpec:
        """The description that engines and exports read.

        Raises:
            UndescribedError: the activation is not in ``ACTIVATIONS``, or dropout has been replaced.
        """
        names = [name for name, function in ACTIVATIONS.items() if function is self.activation]
        if not names or type(self.dropout) is not Dropout:
            raise UndescribedError("a feed-forward network with a custom activation or dropout")
        return FeedForwardSpec(
            names[0], description.describe_linear(self.w_1), description.describe_linear(self.w_2)
        )
