"""A model as search steps it: laid out anew where that is faster."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

from multihead import native
from multihead.engines import transformer
from multihead.engines.cuda import graphs
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.search.stepper import Stepper

_LAYOUTS: dict[str, Callable[[nn.Module, torch.dtype], Stepper[Any] | None]] = {
    "cpu": transformer.lay_out,
    "cuda": graphs.lay_out,
}


class LatestStepper:
    """Hands out a model's stepper: its prepared one, if it offers that, made anew when its weights change.

    Args:
        model: one that search can step; may offer ``prepared(dtype)`` for a CPU, ``fixed(dtype)`` for a GPU.
        device: where it is.
        dtype: of matrix products.

    Raises:
        UserError: int8 where there is no native part, or not on a CPU.
    """

    def __init__(self, model: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
        self._model, self._dtype = model, dtype
        self._lay_out = _LAYOUTS.get(device.type)
        self._parameters = list(model.parameters())
        self._made: Stepper[Any] | None = None
        self._made_of: object = None
        if dtype == torch.int8 and (device.type != "cpu" or not native.level()):
            raise _not_in_bytes("it needs a CPU, and the native part of the installation")
        if dtype == torch.int8 and not isinstance(model, Transformer):
            raise _not_in_bytes("there are native kernels for Transformers only")

    def stepper(self) -> Stepper[Any]:
        """Return the stepper of the weights as they are now.

        Raises:
            UserError: int8 for a model that has no native kernels.
        """
        if self._lay_out is None:
            return cast(Stepper[Any], self._model)
        weights = [(parameter.data_ptr(), parameter._version) for parameter in self._parameters]
        if (native.level(), weights) != self._made_of:
            self._made, self._made_of = self._lay_out(self._model, self._dtype), (native.level(), weights)
        if self._made is None and self._dtype == torch.int8:
            raise _not_in_bytes("some of this model's layers have no native kernels")
        return self._made or cast(Stepper[Any], self._model)


def _not_in_bytes(fact: str) -> UserError:
    return UserError(
        f"no translation in int8: {fact}",
        remedy="Leave the precision at auto; `multihead doctor` tells of the native part.",
    )
