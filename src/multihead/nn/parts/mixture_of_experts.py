"""Mixture of experts in place of a feed-forward network (Shazeer et al. 2017; Jiang et al. 2024, sec. 2.1).

sum_i G(x)_i E_i(x), G(x) = softmax(TopK(x W_r)): a router chooses k of E networks for each token. A layer has
the parameters of E networks, and computes k of them. Ties go to the expert with the smaller number.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from multihead.nn.modules import Linear
from multihead.nn.parts.uncompiled import exclude_from_compilation


class MixtureOfExperts(nn.Module):
    """The k experts with the highest scores, weighted by the softmax of these scores.

    Args:
        d_model: width of input and output.
        experts: number of experts, E.
        chosen: experts of each token, k (Jiang et al.: 2).
        expert: makes an expert, (..., d_model) -> (..., d_model).

    Attributes:
        balance: the balance loss of the last forward pass, a scalar with gradients, see :func:`balance_loss`.
        shares: share of the tokens' choices that each expert had in it, (E,).
    """

    recorded = ("balance", "shares")
    """Attributes that no forward pass reads, see ``training.unsaved``."""

    def __init__(
        self, d_model: int, experts: int, *, chosen: int = 2, expert: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.router = Linear(d_model, experts, bias=False)
        self.experts = nn.ModuleList(expert() for _ in range(experts))
        self.chosen = chosen
        self.balance: Tensor | None = None
        self.shares: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Apply each token's experts to it; (..., d_model)."""
        x_Nd = x.reshape(-1, x.shape[-1])
        # In float32: a rounded score would choose another expert.
        with torch.autocast(x.device.type, enabled=False):
            scores_NE = x_Nd.float() @ self.router.weight.float().T
        p_NE = scores_NE.softmax(dim=-1)
        gates_Nk, chosen_Nk = top(p_NE, self.chosen)
        self.balance, self.shares = balance_loss(p_NE, chosen_Nk)
        out_Nd = _mix(x_Nd, gates_Nk, chosen_Nk, self.experts)
        return out_Nd.view(x.shape)


def top(p_NE: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the gates of each token's k experts, which sum to 1, and their numbers; (N, k) each."""
    best_Nk, chosen_Nk = p_NE.sort(dim=-1, descending=True, stable=True)
    best_Nk, chosen_Nk = best_Nk[:, :k], chosen_Nk[:, :k]
    return best_Nk / best_Nk.sum(dim=-1, keepdim=True), chosen_Nk


def balance_loss(p_NE: Tensor, chosen_Nk: Tensor) -> tuple[Tensor, Tensor]:
    """E sum_i f_i P_i (Fedus et al. 2022, eq. 4 to 6): 1 if all experts are used alike, E if only one is.

    Args:
        p_NE: the router's probabilities, whose mean over the tokens is P.
        chosen_Nk: the experts of each token; the share of these choices is f.

    Returns:
        The loss, and f, (E,), without gradients.
    """
    E = p_NE.shape[1]
    shares_E = torch.bincount(chosen_Nk.flatten(), minlength=E) / max(1, chosen_Nk.numel())
    return E * (shares_E * p_NE.mean(dim=0)).sum(), shares_E


def balances(model: nn.Module) -> Tensor:
    """Return the mean of the balance losses of a model's mixtures in its last forward pass.

    Raises:
        ValueError: the model has no mixture, or has not been called.
    """
    losses = [part.balance for part in model.modules() if isinstance(part, MixtureOfExperts)]
    if not losses or any(loss is None for loss in losses):
        raise ValueError("no mixture of experts, or no forward pass before")
    return torch.stack([loss for loss in losses if loss is not None]).mean()


# Not compiled: how many tokens an expert gets changes from batch to batch.
@exclude_from_compilation
def _mix(x_Nd: Tensor, gates_Nk: Tensor, chosen_Nk: Tensor, experts: nn.ModuleList) -> Tensor:
    """Compute each expert once, for all tokens that chose it; (N, d_model)."""
    out_Nd = torch.zeros_like(x_Nd)
    for number, expert in enumerate(experts):
        rows_M, places_M = (chosen_Nk == number).nonzero(as_tuple=True)
        y_Md = expert(x_Nd[rows_M]) * gates_Nk[rows_M, places_M, None]
        out_Nd = out_Nd.index_add(0, rows_M, y_Md.to(out_Nd.dtype))
    return out_Nd
