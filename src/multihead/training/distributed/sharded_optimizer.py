"""An optimiser whose state is divided among processes: ZeRO-1 (Rajbhandari et al. 2020, sec. 5.1).

Each parameter has an owner, which holds its moments, updates it and sends it to the others. Whole parameters,
because Muon orthogonalises whole matrices; a matrix's update is that of one process, bit for bit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from multihead.system import parallel


class ShardedOptimizer:
    """Makes each process step its own parameters.

    Args:
        model: the model.
        optimizer: optimiser of all its parameters.
    """

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.owners = owners([parameter.numel() for parameter in self.parameters], parallel.world())
        self._flat: dict[tuple[torch.dtype, int], Tensor] = {}

    def _of(self, rank: int) -> list[Tensor]:
        return [p for p, owner in zip(self.parameters, self.owners, strict=True) if owner == rank]

    def keep_own(self) -> None:
        """Drop the state of the parameters that other processes own."""
        for parameter, owner in zip(self.parameters, self.owners, strict=True):
            if owner != parallel.rank():
                self.optimizer.state.pop(parameter, None)

    def step(self) -> None:
        """Update this process's parameters; receive the others."""
        moved = [p.grad is not None for p in self.parameters]
        for parameter, owner in zip(self.parameters, self.owners, strict=True):
            if owner != parallel.rank():
                parameter.grad = None
        self.optimizer.step()
        changed = {id(p) for p, has in zip(self.parameters, moved, strict=True) if has}
        for rank in range(parallel.world()):
            parameters = [p for p in self._of(rank) if id(p) in changed]
            for dtype in dict.fromkeys(p.dtype for p in parameters):
                self._send(rank, [p for p in parameters if p.dtype == dtype])

    def _send(self, rank: int, own: list[Tensor]) -> None:
        key = own[0].dtype, sum(p.numel() for p in own)
        flat = self._flat.get(key)
        if flat is None:
            flat = self._flat[key] = torch.empty(key[1], dtype=own[0].dtype, device=own[0].device)
        pieces = torch.split(flat, [p.numel() for p in own])
        parts = [piece.view(p.shape) for p, piece in zip(own, pieces, strict=True)]
        with torch.no_grad():
            if rank == parallel.rank():
                torch._foreach_copy_(parts, own)
            dist.broadcast(flat, src=rank)
            if rank != parallel.rank():
                torch._foreach_copy_(own, parts)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Hold the whole state in the first process inside the block, to save it."""
        for rank in range(1, parallel.world()):
            self._receive(rank)
        try:
            yield
        finally:
            self.keep_own()

    def _receive(self, rank: int) -> None:
        tensors: dict[str, Tensor] = {}
        plain: dict[str, Any] = {}
        for number, (parameter, owner) in enumerate(zip(self.parameters, self.owners, strict=True)):
            if owner == rank == parallel.rank():
                for entry, value in self.optimizer.state.get(parameter, {}).items():
                    (tensors if isinstance(value, Tensor) else plain)[f"{number}.{entry}"] = value
        found = {**parallel.from_rank(rank, lambda: plain), **parallel.send_to_first(rank, tensors)}
        if parallel.first():
            for name, value in found.items():
                number, _, entry = name.partition(".")
                self.optimizer.state[self.parameters[int(number)]][entry] = value


def owners(sizes: list[int], world: int) -> list[int]:
    """Return the owner of each parameter: the largest first, each to the process that owns least so far."""
    held, owner = [0] * world, [0] * len(sizes)
    for number in sorted(range(len(sizes)), key=lambda number: (-sizes[number], number)):
        owner[number] = min(range(world), key=lambda rank: (held[rank], rank))
        held[owner[number]] += sizes[number]
    return owner
