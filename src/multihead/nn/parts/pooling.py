"""The classifier's input from an encoder's output: class token, mean patch, or sequence pooling."""

import torch
from torch import Tensor, nn


class ClassPooling(nn.Module):
    """The output of the class token, the first (Dosovitskiy et al. 2021, eq. 4)."""

    name = "the class token"

    def shares(self, x_BNd: Tensor) -> Tensor:
        """The share of each token, (B, N): 1 for the first."""
        return torch.eye(x_BNd.shape[1], device=x_BNd.device)[:1].expand(len(x_BNd), -1)

    def forward(self, x_BNd: Tensor) -> Tensor:
        """(B, N, d) to (B, d)."""
        return x_BNd[:, 0]


class MeanPooling(nn.Module):
    """The mean over the patches (Dosovitskiy et al. 2021, app. D.3).

    Args:
        skip: number of tokens before the patches, which do not count.
    """

    name = "the mean patch"

    def __init__(self, skip: int = 0) -> None:
        super().__init__()
        self.skip = skip

    def shares(self, x_BNd: Tensor) -> Tensor:
        """The share of each token, (B, N): equal for the patches."""
        patches = (torch.arange(x_BNd.shape[1], device=x_BNd.device) >= self.skip).float()
        return (patches / patches.sum()).expand(len(x_BNd), -1)

    def forward(self, x_BNd: Tensor) -> Tensor:
        """(B, N, d) to (B, d)."""
        return x_BNd[:, self.skip :].mean(dim=1)


class SequencePooling(nn.Module):
    """softmax(g(x))^T x with a linear g from d to 1 (Hassani et al. 2021, eq. 3 and 4).

    Args:
        d_model: d.
    """

    name = "the pooled sequence"

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.g = nn.Linear(d_model, 1)
        nn.init.xavier_uniform_(self.g.weight)
        nn.init.zeros_(self.g.bias)

    def shares(self, x_BNd: Tensor) -> Tensor:
        """The share of each token, (B, N); an image's sum to 1."""
        scores_BN: Tensor = self.g(x_BNd)[:, :, 0]
        return scores_BN.softmax(dim=1)

    def forward(self, x_BNd: Tensor) -> Tensor:
        """(B, N, d) to (B, d)."""
        shares_BN = self.shares(x_BNd).to(x_BNd.dtype)
        return (shares_BN[:, None] @ x_BNd)[:, 0]
