"""Validation of a model of sets: loss and accuracy."""

import torch
from torch import nn

from multihead.data.plan import evenly_spaced
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.system import hardware
from multihead.tasks.sets.image_sets import SetMaker
from multihead.training import Validation


class Validator:
    """Validates a model on at most ``validation.max_examples`` sets, the same sets each time."""

    def __init__(self, maker: SetMaker, recipe: Recipe[Settings], device: torch.device) -> None:
        self.maker, self.device = maker, device
        self.dtype = hardware.pick_dtype(recipe.training.precision, device)
        self.batch_sets: int = recipe.training.batch_sets
        self.numbers = evenly_spaced(len(maker.labels), recipe.validation.max_examples)

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per set, and the share of sets whose odd one is found."""
        nll, correct = 0.0, 0
        for start in range(0, len(self.numbers), self.batch_sets):
            batch = self.maker.batch(self.numbers[start : start + self.batch_sets], 0).to(self.device)
            with hardware.autocast(self.device, self.dtype):
                logits_BN = model(batch.pixels_BNChw)
            log_p_BN = logits_BN.float().log_softmax(-1)
            nll -= log_p_BN.gather(1, batch.odd_B[:, None]).sum().item()
            correct += int((log_p_BN.argmax(-1) == batch.odd_B).sum())
        count = len(self.numbers)
        return Validation({"loss": nll / count, "accuracy": correct / count}, "")
