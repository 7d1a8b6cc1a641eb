"""Weights, gradients and moments divided among processes: FSDP2 (Zhao et al. 2023).

Each process holds a part of every weight, by rows. A layer's weights are gathered before it computes, forward
and backward, and dropped after it; its gradient is summed over the processes and divided again (ZeRO-3,
Rajbhandari et al. 2020, sec. 5.3).
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, Shard
from torch.nn.modules.batchnorm import _BatchNorm

from multihead.errors import UserError
from multihead.nn.layers import DecoderLayer, EncoderLayer
from multihead.nn.parts.ssru import RecurrentDecoderLayer
from multihead.system import parallel
from multihead.training.distributed.shards import DIVIDED

LAYERS = (EncoderLayer, DecoderLayer, RecurrentDecoderLayer)
"""Classes whose weights training reads inside ``forward`` only, so that they are gathered layer by layer."""


class FullSharding:
    """Divides a model among the processes, and gathers it where a whole one is needed.

    Args:
        model: a model with the same weights in all processes; divided in place.
        device: its device.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self.model, self.device = model, device
        self._copy = copy.deepcopy(model) if parallel.first() else None
        self._uses = 0
        self._release()
        self.mesh = init_device_mesh(device.type, (parallel.world(),))
        for part in [part for part in model.modules() if type(part) in LAYERS]:
            fully_shard(part, mesh=self.mesh)
        fully_shard(model, mesh=self.mesh)
        register_fsdp_forward_method(model, "loss")
        for part in model.modules():
            if isinstance(part, FSDPModule):
                # The objective is divided by the counts of all processes already. On the root alone, this
                # would leave the layers' gradients divided by the number of processes.
                part.set_gradient_divide_factor(1.0)
                part.set_force_sum_reduction_for_comms(True)  # gloo has no other

    # --- parts ----------------------------------------------------------------------------------------

    def part(self, whole: Tensor) -> Tensor:
        """Return this process's part of a whole tensor, as a copy: rows, at the end perhaps none."""
        rows = torch.chunk(whole, parallel.world())
        return rows[parallel.rank()].clone() if parallel.rank() < len(rows) else whole[:0].clone()

    def divide(self, whole: Tensor) -> DTensor:
        """Return a whole tensor as one that is divided as the weights are."""
        shape, stride = whole.shape, whole.stride()
        part = self.part(whole).to(self.device)
        return DTensor.from_local(part, self.mesh, [Shard(0)], run_check=False, shape=shape, stride=stride)

    @torch.no_grad()
    def gather(self, part: Tensor, shape: torch.Size) -> Tensor:
        """Return the whole of the processes' parts in the first; all processes call it together."""
        shard = local(part)
        height = -(-shape[0] // parallel.world())
        padded = shard.new_zeros((height, *shape[1:]))
        padded[: len(shard)] = shard
        pieces = [torch.empty_like(padded) for _ in range(parallel.world())] if parallel.first() else None
        dist.gather(padded, pieces, dst=0)
        return torch.cat(pieces)[: shape[0]] if pieces else shard

    # --- a whole model in the first process ------------------------------------------------------------

    @contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """Hold the whole model in the first process inside the block; the others receive their part."""
        self._uses += 1
        try:
            if self._uses == 1:
                self._fill()
            yield self.model if self._copy is None else self._copy
        finally:
            self._uses -= 1
            if not self._uses:
                self._release()

    @torch.no_grad()
    def _fill(self) -> None:
        into = dict(self._copy.named_parameters()) if self._copy else {}
        for name, weight in self.model.named_parameters():
            found = self.gather(weight, weight.shape)
            if name in into:
                into[name].data = found
        for own, buffer in zip(
            self._copy.buffers() if self._copy else (), self.model.buffers(), strict=False
        ):
            own.copy_(buffer)

    def _release(self) -> None:
        """Drop the whole weights. Their memory may be shared, e.g. with NumPy, so it is not resized."""
        for weight in self._copy.parameters() if self._copy else ():
            weight.data = weight.data.new_empty(0)


def local(tensor: Tensor) -> Tensor:
    """Return this process's part of a divided tensor; any other tensor itself."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def refuse_model(model: nn.Module) -> None:
    """Refuse a model whose weights cannot be divided.

    Raises:
        UserError: it has no layer that can be gathered by itself, batch normalisation, a parameter without
            rows, or trained parameters of several formats.
    """
    if not any(type(part) in LAYERS for part in model.modules()):
        raise UserError(
            "weights are divided by the layers of a Transformer's stacks, but this model has none",
            place=DIVIDED,
            remedy="Use training.shard_optimizer, which divides the optimiser's state of any model.",
        )
    if any(isinstance(part, _BatchNorm) for part in model.modules()):
        fact = "a model with batch normalisation is trained by one process"
        raise UserError(fact, place=DIVIDED, remedy="Start one process, or choose another norm.")
    for name, weight in model.named_parameters():
        if not weight.dim():
            remedy = "Use training.shard_optimizer, or leave that part of the model out."
            raise UserError(f"{name} is a single number, which has no rows", place=DIVIDED, remedy=remedy)
    formats = sorted({str(weight.dtype) for weight in model.parameters() if weight.requires_grad})
    if len(formats) > 1:
        raise UserError(
            f"the weights have several formats ({', '.join(formats)}), and divided ones have one",
            place=DIVIDED,
            remedy="Use training.shard_optimizer, or weights of one format.",
        )
