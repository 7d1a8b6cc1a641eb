"""An observer for tests of whole trainings."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings


class Silent:
    """An observer that records events, and may raise an error on one."""

    def __init__(self, objection: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.updates: list[dict[str, Any]] = []
        self.validations: list[dict[str, Any]] = []
        self.began_at: int | None = None
        self.objection = objection or (lambda event: None)

    def on_preparation(self, stage: str, done: int, total: int | None) -> None:
        pass

    def on_data(self, summary: Sequence[str], tokens_per_epoch: int) -> None:
        pass

    def on_start(self, recipe: Recipe[Settings], model: nn.Module, device: object, step: int) -> None:
        self.began_at = step

    def on_step(self, step: int) -> None:
        pass

    def on_log(self, event: dict[str, Any]) -> None:
        self.updates.append(event)
        self.objection(event)

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        self.validations.append(event)
        self.objection(event)
