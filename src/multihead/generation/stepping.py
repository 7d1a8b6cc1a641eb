"""A model as search steps it: laid out anew where that is faster."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

from multihead import native
from multihead.search.stepper import Stepper


class LatestStepper:
    """Hands out a model's stepper: its prepared one, if it offers that, made anew when its weights change.

    Args:
        model: one that search can step; may offer ``prepared(dtype)``.
        device: where it is. Only on a CPU are models prepared.
        dtype: of matrix products.
    """

    def __init__(self, model: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
        self._model, self._dtype = model, dtype
        prepare = getattr(model, "prepared", None) if device.type == "cpu" else None
        self._prepare = cast(Callable[[torch.dtype], Stepper[Any] | None] | None, prepare)
        self._parameters = list(model.parameters())
        self._made: Stepper[Any] | None = None
        self._made_of: object = None

    def stepper(self) -> Stepper[Any]:
        """Return the stepper of the weights as they are now."""
        if self._prepare is None:
            return cast(Stepper[Any], self._model)
        weights = [(parameter.data_ptr(), parameter._version) for parameter in self._parameters]
        if (native.level(), weights) != self._made_of:
            self._made, self._made_of = self._prepare(self._dtype), (native.level(), weights)
        return self._made or cast(Stepper[Any], self._model)
