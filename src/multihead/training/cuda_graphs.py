"""An update as graphs of CUDA kernels: recorded once for every shape of batch, then launched as one.

An update of a small model is a thousand kernels of a few microseconds each, and Python takes several times
as long to launch them one by one as the GPU to run them. A graph draws the random numbers that its kernels
would draw one by one: the generator's seed is read when it is launched. Python also does not wait for an
update's end before it prepares the next.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from multihead import hardware
from multihead.batch import Batch
from multihead.nn.losses import objective
from multihead.settings import OptimisationSettings
from multihead.training.master_weights import MasterWeights
from multihead.training.update import Told, Updater, check, told_of, totals_of

AHEAD = 2
"""Updates that may be under way when another is begun."""

MOST_GRAPHS = 256
"""Shapes that are recorded; kernels of others are launched one by one."""

Shape = tuple[tuple[int, ...], ...]


def can_capture(model: nn.Module, settings: OptimisationSettings, device: torch.device) -> bool:
    """Tell whether a model's updates can be recorded: it says so, nothing is compiled, there is a GPU."""
    return device.type == "cuda" and not settings.compile and bool(getattr(model, "capturable", False))


def updater(
    model: nn.Module, optimizer: torch.optim.Optimizer, settings: OptimisationSettings, device: torch.device
) -> Updater:
    """Return what makes a model's updates fastest; arguments as of :class:`Updater`."""
    kind = GraphUpdater if can_capture(model, settings, device) else Updater
    return kind(model, optimizer, settings, device)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A micro-batch's forward and backward pass, reading from these tensors."""

    graph: torch.cuda.CUDAGraph
    batch: Batch


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """An update that was launched, and where its numbers arrive."""

    step: int
    counts: dict[str, int]
    numbers: Tensor
    arrived: torch.cuda.Event


class GraphUpdater(Updater):
    """Makes updates of a model on a GPU; see :class:`Updater`.

    The model's ``loss`` must not depend on the step, and must not wait for the GPU. A shape is recorded when
    it is seen for the second time: the first time lets libraries set themselves up.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: OptimisationSettings,
        device: torch.device,
    ) -> None:
        super().__init__(model, optimizer, settings, device)
        self._gradients = []
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)  # stays where it is: graphs add to it
                self._gradients.append(parameter.grad)
        self._shadow = None if self.dtype == torch.float32 else MasterWeights(model, self.dtype)
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._memory = torch.cuda.graph_pool_handle()
        self._seen: set[Shape] = set()
        self._recorded: dict[Shape, _Recorded] = {}
        self._step_graph: torch.cuda.CUDAGraph | None = None
        self._stepped = False
        self._totals: dict[str, Tensor] = {}
        self._per: dict[str, str] = {}
        self._told = torch.zeros(1, device=device)
        self._underway: deque[_UnderWay] = deque()

    def update(self, step: int, batches: Sequence[Batch]) -> list[Told]:
        """See :meth:`Updater.update`; what is returned is some updates late."""
        totals = totals_of(batches)
        now = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(now)
        with torch.cuda.stream(self._stream):
            self._set_totals(totals)
            for number, batch in enumerate(batches):
                with self.chance(step, number):
                    self._add(batch, step)
            self._apply()
            counts = {name: totals[per] for name, per in self._per.items()}
            self._underway.append(self._sent_back(step, counts))
        now.wait_stream(self._stream)
        return self._arrived(AHEAD)

    def settle(self) -> list[Told]:
        """See :meth:`Updater.settle`."""
        return self._arrived(0)

    def add_gradient(
        self, batch: Batch, step: int, totals: Mapping[str, int | Tensor]
    ) -> dict[str, tuple[Tensor, str]]:
        """See :meth:`Updater.add_gradient`; by way of the shadow, if there is one."""
        if self._shadow is None:
            return super().add_gradient(batch, step, totals)
        with hardware.autocast(self.device, self.dtype):
            loss = self._shadow.loss(batch, step)
        self._shadow.add_gradient(objective(loss, totals))
        return told_of(loss)

    # --- a micro-batch --------------------------------------------------------------------------------

    def _set_totals(self, totals: Mapping[str, int]) -> None:
        for name, total in totals.items():
            if name not in self._totals:
                self._totals[name] = torch.zeros((), device=self.device)
            self._totals[name].fill_(total)

    def _add(self, batch: Batch, step: int) -> None:
        """Add a micro-batch's gradient and numbers, by a graph if there is one."""
        shape = tuple(tuple(tensor.shape) for tensor in batch.tensors())
        if shape in self._seen and shape not in self._recorded and len(self._recorded) < MOST_GRAPHS:
            self._recorded[shape] = self._record(batch, step)
        if shape in self._recorded:
            recorded = self._recorded[shape]
            for place, tensor in zip(recorded.batch.tensors(), batch.tensors(), strict=True):
                place.copy_(_pinned(tensor), non_blocking=True)
            recorded.graph.replay()
            return
        self._seen.add(shape)
        self._compute(batch.mapped(lambda t: _pinned(t).to(self.device, non_blocking=True)), step)

    def _record(self, batch: Batch, step: int) -> _Recorded:
        inputs = batch.mapped(lambda tensor: torch.empty_like(tensor, device=self.device))
        graph = torch.cuda.CUDAGraph()
        with _recording(graph, self._memory):
            self._compute(inputs, step)
        return _Recorded(graph, inputs)

    def _compute(self, batch: Batch, step: int) -> None:
        terms = self.add_gradient(batch, step, self._totals)
        if not self._per:
            self._per = {name: per for name, (_, per) in terms.items()}
            self._told = torch.zeros(len(terms) + 1, device=self.device)
        self._told[:-1].add_(torch.stack([value.float() for value, _ in terms.values()]))

    # --- the step -------------------------------------------------------------------------------------

    def _apply(self) -> None:
        """Clip and step, by a graph from the second time on: the first makes the optimiser's state."""
        if self._stepped and self._step_graph is None:
            self._step_graph = torch.cuda.CUDAGraph()
            with _recording(self._step_graph, self._memory):
                self._step()
        if self._step_graph is not None:
            self._step_graph.replay()
        else:
            self._step()
            self._stepped = True

    def _step(self) -> None:
        self._told[-1] = self.clip()
        self.optimizer.step()
        torch._foreach_zero_(self._gradients)
        if self._shadow is not None:
            self._shadow.refresh()

    # --- what it tells --------------------------------------------------------------------------------

    def _sent_back(self, step: int, counts: dict[str, int]) -> _UnderWay:
        numbers = torch.empty(len(self._told), pin_memory=True)
        numbers.copy_(self._told, non_blocking=True)
        self._told.zero_()
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record(self._stream)
        return _UnderWay(step, counts, numbers, arrived)

    def _arrived(self, most: int) -> list[Told]:
        """Wait until at most so many updates are under way; what the others told."""
        told = []
        while len(self._underway) > most:
            one = self._underway.popleft()
            one.arrived.synchronize()
            *values, norm = one.numbers.tolist()
            check(norm, one.step)
            told.append(Told(dict(zip(one.counts, values, strict=True)), one.counts, norm))
        return told


@contextmanager
def _recording(graph: torch.cuda.CUDAGraph, memory: Any) -> Iterator[None]:
    """Record the kernels launched inside the block on the current stream, which is not the default one.

    ``torch.cuda.graph`` would also collect garbage and give free memory back, at a tenth of a second each.
    """
    # Other threads, which prepare batches, may use the GPU meanwhile.
    graph.capture_begin(pool=memory, capture_error_mode="thread_local")
    try:
        yield
    except BaseException:
        with suppress(RuntimeError):  # what was raised inside says more
            graph.capture_end()
        raise
    graph.capture_end()


def _pinned(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_pinned() or tensor.is_cuda else tensor.pin_memory()
