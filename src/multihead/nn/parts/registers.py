"""Tokens added to and removed from the patches: registers, and patch dropout."""

import torch
from torch import Tensor, nn


class Registers(nn.Module):
    """Learned tokens before the patches, whose outputs are discarded (Darcet et al. 2024, sec. 2.2).

    Large vision transformers otherwise use patches of the background to compute with.

    Args:
        count: number of registers, R.
        d_model: their width.
    """

    def __init__(self, count: int, d_model: int) -> None:
        super().__init__()
        self.weight_Rd = nn.Parameter(torch.randn(count, d_model) * 0.02)

    def forward(self, x_BPd: Tensor) -> Tensor:
        """(B, P, d_model) to (B, R + P, d_model)."""
        return torch.cat([self.weight_Rd.to(x_BPd.dtype).expand(len(x_BPd), -1, -1), x_BPd], dim=1)


class PatchDropout(nn.Module):
    """In training, keep a random subset of each image's patches, in their order (Liu et al. 2022).

    The kept patches are not rescaled: attention is a mean, whatever its number of terms. Positions must have
    been added.

    Args:
        p: fraction of the patches that are left out; at least one stays.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x_BPd: Tensor) -> Tensor:
        """(B, P, d) to (B, max(1, round(P (1 - p))), d) in training, else x."""
        if not self.training or not self.p:
            return x_BPd
        B, P, d = x_BPd.shape
        count = max(1, round(P * (1 - self.p)))
        chosen_BK = torch.rand(B, P, device=x_BPd.device).argsort(dim=1)[:, :count].sort(dim=1).values
        return x_BPd.gather(1, chosen_BK[:, :, None].expand(-1, -1, d))
