"""Updates as CUDA graphs: captured once per batch shape, then replayed with a single launch.

An update of a small model is a thousand kernels of a few microseconds each. Launching them one by one from
Python takes several times as long as running them. A graph draws the same random numbers as its kernels would
one by one, since it reads the generator's seed at launch. Updates are asynchronous: Python prepares the next
one while the GPU still works.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from multihead.batch import Batch
from multihead.nn.losses import objective
from multihead.recipe.settings import OptimisationSettings
from multihead.system import hardware
from multihead.training.master_weights import MasterWeights
from multihead.training.update import Updater, UpdateStats, check_finite, term_sums, total_counts

MAX_PENDING = 2
"""Updates that may still run on the GPU when another is launched."""

MAX_GRAPHS = 256
"""Batch shapes that are captured; for others, kernels are launched one by one."""

Shape = tuple[tuple[int, ...], ...]


def can_capture(model: nn.Module, settings: OptimisationSettings, device: torch.device) -> bool:
    """Return True for a model with ``capturable`` on a CUDA device, unless training compiles it."""
    # A graph has changed the weights before its gradient is known to be finite.
    eager = settings.compile or settings.skip_bad
    return device.type == "cuda" and not eager and bool(getattr(model, "capturable", False))


def make_updater(
    model: nn.Module, optimizer: torch.optim.Optimizer, settings: OptimisationSettings, device: torch.device
) -> Updater:
    """Return the fastest updater for a model; arguments as for :class:`Updater`."""
    kind = CudaGraphUpdater if can_capture(model, settings, device) else Updater
    return kind(model, optimizer, settings, device)


@dataclass(frozen=True, slots=True)
class _CapturedPass:
    """A captured forward and backward pass, and its input tensors."""

    graph: torch.cuda.CUDAGraph
    batch: Batch


@dataclass(frozen=True, slots=True)
class _PendingUpdate:
    """A launched update, and the pinned memory that receives its statistics."""

    step: int
    counts: dict[str, int]
    stats: Tensor
    done: torch.cuda.Event


class CudaGraphUpdater(Updater):
    """Updates a model on a GPU by CUDA graphs; see :class:`Updater`.

    The model's ``loss`` must not depend on the step and must not synchronise with the GPU. A shape is
    captured when it occurs for the second time, because libraries initialise themselves during the first.
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
                parameter.grad = torch.zeros_like(parameter)  # at a fixed address: graphs add to it
                self._gradients.append(parameter.grad)
        self._master = None if self.dtype == torch.float32 else MasterWeights(model, self.dtype)
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._memory = torch.cuda.graph_pool_handle()
        self._seen: set[Shape] = set()
        self._captured: dict[Shape, _CapturedPass] = {}
        self._step_graph: torch.cuda.CUDAGraph | None = None
        self._stepped = False
        self._totals: dict[str, Tensor] = {}
        self._per: dict[str, str] = {}
        self._stats = torch.zeros(1, device=device)
        self._pending: deque[_PendingUpdate] = deque()

    def update(self, step: int, batches: Sequence[Batch]) -> list[UpdateStats]:
        """See :meth:`Updater.update`; the statistics lag behind by up to ``MAX_PENDING`` updates."""
        totals = total_counts(batches)
        current = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            self._set_totals(totals)
            for number, batch in enumerate(batches):
                with self.seed_micro_batch(step, number):
                    self._add(batch, step)
            self._apply()
            counts = {name: totals[per] for name, per in self._per.items()}
            self._pending.append(self._copy_stats(step, counts))
        current.wait_stream(self._stream)
        return self._collect(MAX_PENDING)

    def synchronize(self) -> list[UpdateStats]:
        """See :meth:`Updater.synchronize`."""
        return self._collect(0)

    def plain(self) -> Updater:
        """Return an updater without graphs, whose buffers are of fixed size; see :meth:`Updater.plain`."""
        self._captured.clear()
        self._step_graph = self._master = None
        self._gradients.clear()
        return Updater(self.model, self.optimizer, self.settings, self.device)

    def add_gradient(
        self, batch: Batch, step: int, totals: Mapping[str, int | Tensor]
    ) -> dict[str, tuple[Tensor, str]]:
        """See :meth:`Updater.add_gradient`; uses low-precision weights unless training is in fp32."""
        if self._master is None:
            return super().add_gradient(batch, step, totals)
        with hardware.autocast(self.device, self.dtype):
            loss = self._master.loss(batch, step)
        self._master.add_gradient(objective(loss, totals))
        return term_sums(loss)

    # --- a micro-batch --------------------------------------------------------------------------------

    def _set_totals(self, totals: Mapping[str, int]) -> None:
        for name, total in totals.items():
            if name not in self._totals:
                self._totals[name] = torch.zeros((), device=self.device)
            self._totals[name].fill_(total)

    def _add(self, batch: Batch, step: int) -> None:
        """Add a micro-batch's gradient and statistics, by replaying a graph if there is one."""
        shape = tuple(tuple(tensor.shape) for tensor in batch.tensors())
        if shape in self._seen and shape not in self._captured and len(self._captured) < MAX_GRAPHS:
            self._captured[shape] = self._capture(batch, step)
        if shape in self._captured:
            captured = self._captured[shape]
            for target, tensor in zip(captured.batch.tensors(), batch.tensors(), strict=True):
                target.copy_(_pin(tensor), non_blocking=True)
            captured.graph.replay()
            return
        self._seen.add(shape)
        self._compute(batch.map_tensors(lambda t: _pin(t).to(self.device, non_blocking=True)), step)

    def _capture(self, batch: Batch, step: int) -> _CapturedPass:
        inputs = batch.map_tensors(lambda tensor: torch.empty_like(tensor, device=self.device))
        graph = torch.cuda.CUDAGraph()
        with _capturing(graph, self._memory):
            self._compute(inputs, step)
        return _CapturedPass(graph, inputs)

    def _compute(self, batch: Batch, step: int) -> None:
        terms = self.add_gradient(batch, step, self._totals)
        if not self._per:
            self._per = {name: per for name, (_, per) in terms.items()}
            self._stats = torch.zeros(len(terms) + 1, device=self.device)
        self._stats[:-1].add_(torch.stack([value.float() for value, _ in terms.values()]))

    # --- the step -------------------------------------------------------------------------------------

    def _apply(self) -> None:
        """Clip and step, by a graph from the second update on: the first creates the optimiser's state."""
        if self._stepped and self._step_graph is None:
            self._step_graph = torch.cuda.CUDAGraph()
            with _capturing(self._step_graph, self._memory):
                self._step()
        if self._step_graph is not None:
            self._step_graph.replay()
        else:
            self._step()
            self._stepped = True

    def _step(self) -> None:
        self._stats[-1] = self.clip()
        self.optimizer.step()
        torch._foreach_zero_(self._gradients)
        if self._master is not None:
            self._master.refresh()

    # --- statistics -----------------------------------------------------------------------------------

    def _copy_stats(self, step: int, counts: dict[str, int]) -> _PendingUpdate:
        """Start copying the update's statistics to the host."""
        stats = torch.empty(len(self._stats), pin_memory=True)
        stats.copy_(self._stats, non_blocking=True)
        self._stats.zero_()
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record(self._stream)
        return _PendingUpdate(step, counts, stats, done)

    def _collect(self, max_pending: int) -> list[UpdateStats]:
        """Wait until at most ``max_pending`` updates are pending; return the statistics of the others."""
        finished = []
        while len(self._pending) > max_pending:
            update = self._pending.popleft()
            update.done.synchronize()
            *values, norm = update.stats.tolist()
            check_finite(norm, update.step)
            sums = dict(zip(update.counts, values, strict=True))
            finished.append(UpdateStats(sums, update.counts, norm))
        return finished


@contextmanager
def _capturing(graph: torch.cuda.CUDAGraph, memory: Any) -> Iterator[None]:
    """Capture the kernels launched inside the block on the current stream, which must not be the default one.

    ``torch.cuda.graph`` would also collect garbage and release free memory, at a tenth of a second per graph.
    """
    # Threads that prepare batches may use the GPU meanwhile.
    graph.capture_begin(pool=memory, capture_error_mode="thread_local")
    try:
        yield
    except BaseException:
        with suppress(RuntimeError):  # the error raised inside is more informative
            graph.capture_end()
        raise
    graph.capture_end()


def _pin(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_pinned() or tensor.is_cuda else tensor.pin_memory()
