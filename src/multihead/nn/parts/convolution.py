"""Gated convolutions over sequences (Dauphin et al. 2017; Gehring et al. 2017, sec. 3.2)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from multihead.nn.modules import Dropout, Linear

SQRT_HALF = 0.5**0.5
"""Scales a sum of two terms so that it keeps their variance (Gehring et al. 2017, sec. 3.4)."""


def scaled_linear(
    d_in: int, d_out: int, *, gain: float = 1.0, dropout: float = 0.0, normalised: bool
) -> nn.Linear:
    """Return a linear layer drawn from N(0, gain (1 - dropout) / d_in), biases 0 (Gehring et al. 2017, 3.5).

    Args:
        d_in: width of the input.
        d_out: width of the output.
        gain: 4 before a gated linear unit, which quarters the variance.
        dropout: dropout of its input.
        normalised: weight normalisation, w = g v / |v| (Salimans and Kingma 2016).
    """
    layer = Linear(d_in, d_out)
    nn.init.normal_(layer.weight, std=(gain * (1 - dropout) / d_in) ** 0.5)
    nn.init.zeros_(layer.bias)
    return weight_norm(layer) if normalised else layer


class GatedConvolution(nn.Module):
    """GLU(W [x_i-a; ...; x_i+b] + bias), GLU([A; B]) = A * sigmoid(B) (Gehring et al. 2017, sec. 3.2).

    The convolution is one matrix product over the windows of all positions, so whole sequences and single
    steps share the code.

    Args:
        d: width of input and output.
        kernel_size: positions in a window.
        dropout: dropout of the input.
        normalised: weight normalisation.
    """

    def __init__(self, d: int, kernel_size: int, *, dropout: float, normalised: bool) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dropout = Dropout(dropout)
        self.w = scaled_linear(kernel_size * d, 2 * d, gain=4, dropout=dropout, normalised=normalised)

    def forward(self, x_BNd: Tensor) -> Tensor:
        """Convolve with a centred window, zero-padded at both ends; (B, N, d)."""
        side = self.kernel_size // 2
        return self._convolve(F.pad(self.dropout(x_BNd), (0, 0, side, side)))

    def after(self, past_BKd: Tensor, x_BNd: Tensor) -> tuple[Tensor, Tensor]:
        """Convolve causally; return (B, N, d), and the past that the next call needs.

        Args:
            past_BKd: the kernel_size - 1 previous inputs, from the last call; zeros at the beginning.
            x_BNd: the new inputs.
        """
        x_BMd = torch.cat([past_BKd, self.dropout(x_BNd)], dim=1)
        return self._convolve(x_BMd), x_BMd[:, x_BNd.shape[1] :]

    def _convolve(self, x_BMd: Tensor) -> Tensor:
        N = x_BMd.shape[1] - self.kernel_size + 1
        # As ``unfold``, whose gradient takes more than twice as long.
        windows_BNkd = torch.cat([x_BMd[:, k : k + N] for k in range(self.kernel_size)], dim=-1)
        return F.glu(self.w(windows_BNkd))
