"""The residual connection around a sublayer, with dropout and layer norm (Vaswani et al. 2017, sec. 3.1)."""

from collections.abc import Callable
from typing import Literal, Protocol

from torch import Tensor, nn

from multihead.nn import description, ops
from multihead.nn.description import ResidualSpec, UndescribedError
from multihead.nn.kernels.residual import fan_out
from multihead.nn.modules import Dropout, LayerNorm, RMSNorm, as_published

Sublayer = Callable[[Tensor], Tensor]


class ResidualKind(Protocol):
    """The class of a residual connection."""

    @property
    def ends_normalised(self) -> bool:
        """True if a stack needs no final norm."""
        ...

    def __call__(self, d_model: int, dropout: float) -> nn.Module:
        """Make a residual connection, ``forward(x, sublayer)``."""
        ...


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))), as published (sec. 3.1 and 5.4)."""

    ends_normalised = True

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Same shape as x."""
        plain = as_published(self.norm, LayerNorm) and as_published(self.dropout, Dropout)
        if plain and ops.has_kernels(x):
            x, branch = fan_out(x)
            return ops.residual_norm(x, sublayer(branch), self.norm, self.dropout.active_p)
        out: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return out

    def describe(self) -> ResidualSpec:
        """The description that engines and exports read."""
        return described_residual("post", self.norm, self.dropout)


class PreNorm(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): trains deep stacks without warm-up (Xiong et al. 2020).

    The stack needs a final norm.
    """

    ends_normalised = False
    norm_kind: type[nn.Module] = LayerNorm
    """Class of the norm, and of the stack's final norm."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = self.norm_kind(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Same shape as x."""
        if as_published(self.dropout, Dropout) and ops.has_kernels(x):
            x, branch = fan_out(x)
            return ops.residual_sum(x, sublayer(self.norm(branch)), self.dropout.active_p)
        out: Tensor = x + self.dropout(sublayer(self.norm(x)))
        return out

    def describe(self) -> ResidualSpec:
        """The description that engines and exports read."""
        return described_residual("pre", self.norm, self.dropout)


class PreRMSNorm(PreNorm):
    """x + Dropout(Sublayer(RMSNorm(x))), as in Llama (Touvron et al. 2023)."""

    norm_kind = RMSNorm

    def describe(self) -> ResidualSpec:
        """Raise ``UndescribedError``: no engine computes this norm."""
        raise UndescribedError("the norm is a root mean square norm")


def described_residual(kind: Literal["post", "pre"], norm: nn.Module, dropout: nn.Module) -> ResidualSpec:
    """Return the description of a residual connection.

    Raises:
        UndescribedError: it has no layer norm, or a custom dropout.
    """
    norm_spec = description.describe_norm(norm)
    if norm_spec is None or type(dropout) is not Dropout:
        raise UndescribedError("a residual connection without a norm, or with a custom dropout")
    return ResidualSpec(kind, norm_spec)
