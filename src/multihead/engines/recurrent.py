"""The SSRU of a laid-out decoder layer (``nn.ssru``), with its states in the shared cache.

A slot holds the state that a hypothesis had after a token, so a beam is not reordered here either: the newest
slot that a hypothesis sees holds its state.
"""

import torch
from torch import Tensor

from multihead.engines.parts import ConstantLinear
from multihead.engines.shared_cache import SharedCache
from multihead.nn.description import SSRUSpec


class LaidOutSSRU:
    """An SSRU for one step of every hypothesis."""

    def __init__(self, spec: SSRUSpec, dtype: torch.dtype) -> None:
        self._w = ConstantLinear.of(dtype, spec.w, spec.w_f)

    def __call__(self, x_NKd: Tensor, cache: object, bias: Tensor | None) -> Tensor:
        """The cell's outputs, (N, K, d_model).

        Args:
            x_NKd: inputs.
            cache: a ``SharedCache``; each hypothesis's new state is appended.
            bias: 0 for a visible slot, else -infinity, the new ones included, (N, 1, K, slots); None: 0.
        """
        assert isinstance(cache, SharedCache)  # engines with other caches decline
        candidate, gate = self._w(x_NKd).float().chunk(2, dim=-1)
        forget = gate.sigmoid()
        state_NKd = (1 - forget) * candidate
        if (state := cache.own) is not None:
            state_NKd += forget * _newest(state.v[:, 0], bias)
        cache.append(state_NKd[:, None, :, :0], state_NKd[:, None])
        return state_NKd.relu().to(x_NKd.dtype)


def _newest(states_NSd: Tensor, bias: Tensor | None) -> Tensor:
    """The state in the newest slot that each hypothesis sees, (N, K, d); 0 if it sees none."""
    slots = states_NSd.shape[1]
    if bias is None:
        return states_NSd[:, -1:]
    visible_NKS = bias[:, 0, :, :slots] == 0
    numbers_NKS = visible_NKS * torch.arange(1, slots + 1, device=states_NSd.device)
    newest_NK = numbers_NKS.amax(-1)
    rows_NKd = (newest_NK - 1).clamp_min(0)[..., None].expand(-1, -1, states_NSd.shape[2])
    return states_NSd.gather(1, rows_NKd) * (newest_NK > 0)[..., None]
