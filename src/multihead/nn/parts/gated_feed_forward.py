"""Gated feed-forward networks, (act(x W_g) * x W_1) W_2: GLU variants (Shazeer 2020, eq. 6)."""

from torch import Tensor

from multihead.nn import description
from multihead.nn.description import FeedForwardSpec, UndescribedError
from multihead.nn.feed_forward import ACTIVATIONS, FeedForward
from multihead.nn.modules import Dropout, Linear, all_linear

GATES = {"swiglu": "silu", "geglu": "gelu"}
"""The activation of each variant's gate."""


class GatedFeedForward(FeedForward):
    """(act(x W_g) * x W_1) W_2 at every position; with three matrices, 2/3 of d_ff keep the parameters.

    Args:
        d_model: width of input and output.
        d_ff: inner width.
        activation: "swiglu" or "geglu".
        dropout: probability of dropping an inner unit.
        bias: whether the matrices have biases (the paper: no).
    """

    def __init__(
        self, d_model: int, d_ff: int, *, activation: str = "swiglu", dropout: float = 0.0, bias: bool = False
    ) -> None:
        super().__init__(d_model, d_ff, activation=GATES[activation], dropout=dropout, bias=bias)
        self.w_g, self.kind = Linear(d_model, d_ff, bias=bias), activation

    def forward(self, x: Tensor) -> Tensor:
        """Apply equation 6 to the last axis; (..., d_model)."""
        gate, inner = all_linear(x, self.w_g, self.w_1)
        transformed: Tensor = self.w_2(self.dropout(self.activation(gate) * inner))
        return transformed

    def describe(self) -> FeedForwardSpec:
        """The description that engines and exports read.

        Raises:
            UndescribedError: activation or dropout has been replaced.
        """
        if self.activation is not ACTIVATIONS[GATES[self.kind]] or type(self.dropout) is not Dropout:
            raise UndescribedError("a gated feed-forward network with a custom activation or dropout")
        w_g, w_1, w_2 = map(description.describe_linear, (self.w_g, self.w_1, self.w_2))
        return FeedForwardSpec(self.kind, w_1, w_2, gate=w_g)
