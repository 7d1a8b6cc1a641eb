"""Comparison of a row in a batch with the same row alone: commands make batches as it suits them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from multihead.batch import Input
from multihead.search.consistency import by_rows, plainly, tolerance, warn


class RowsAlone:
    """Warns, at the first batch of several rows, of a model whose outputs depend on the batch or on chance.

    Args:
        model: on its device.
        compute: returns the outputs of a batch, a row for each of its rows; None: the model itself.
    """

    def __init__(self, model: nn.Module, compute: Callable[[Any], Tensor] | None = None) -> None:
        self._model, self._compute, self._done = model, compute or model, False

    def compare(self, batch: Input | Tensor) -> None:
        """Compare two rows of the batch, unless it is done; of texts, the longest and the shortest."""
        if self._done or len(batch.lengths_B if isinstance(batch, Input) else batch) < 2:
            return
        self._done = True
        two, one = _two_and_one(batch)
        try:
            with plainly(self._model, _device(batch)):
                both, again, alone = (self._compute(rows).float() for rows in (two, two, one))
        except Exception:  # whatever the model's code raises: its use reports the error
            return
        within = both[1:, : alone.shape[1]] if isinstance(batch, Input) and alone.ndim > 1 else both[1:]
        finite = alone.isfinite() & within.isfinite()
        largest = float(alone[finite].abs().max()) if bool(finite.any()) else 0.0
        by_time, by_batch = _difference(both, again), _difference(within, alone)
        warn(self._model, by_rows(by_time, by_batch, tolerance(self._model, largest), "row", "an output"))


def _difference(one: Tensor, other: Tensor) -> float:
    return float((one - other).nan_to_num(0.0, 0.0, 0.0).abs().max()) if one.numel() else 0.0


def _device(batch: Input | Tensor) -> torch.device:
    return (batch.ids_BN if isinstance(batch, Input) else batch).device


def _two_and_one(batch: Input | Tensor) -> tuple[Any, Any]:
    """Return two rows as a batch, and the second of them alone, without padding."""
    if isinstance(batch, Tensor):
        return batch[:2], batch[1:2]
    order = batch.lengths_B.argsort(descending=True)
    rows = order[[0, -1]]
    longest, shortest = batch.lengths_B[rows].tolist()
    two = Input(batch.ids_BN[rows, :longest], batch.segments_BN[rows, :longest], batch.lengths_B[rows])
    one = two.map_tensors(lambda tensor: tensor[1:])
    return two, Input(one.ids_BN[:, :shortest], one.segments_BN[:, :shortest], one.lengths_B)
