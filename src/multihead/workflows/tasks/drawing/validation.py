"""How a model that draws is looked at in training: its codes, and what it draws for captions it never saw."""

from contextlib import AbstractContextManager

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from multihead import hardware
from multihead.data.pictures.caption_batches import CaptionBatches
from multihead.generation.image_generator import ImageGenerator
from multihead.recipe import Recipe
from multihead.settings import Settings
from multihead.settings.tasks.drawing import SearchSettings
from multihead.training import Validation

SHOWN = 5
"""Captions of which it is told how well they were drawn."""


class Validator:
    """Validates a model on captions that were held out, at most ``validation.max_pictures`` of them."""

    def __init__(self, batches: CaptionBatches, recipe: Recipe[Settings], device: torch.device) -> None:
        self.batches, self.device = batches, device
        self.precision: hardware.Precision = recipe.training.precision
        self.size: int = recipe.training.batch_pictures
        total = len(batches.store)
        self.rows = _spread(total, recipe.validation.max_pictures)
        self.drawn = _spread(total, recipe.validation.drawn)

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return what the stage of this step has to show; the sample text names captions and their codes.

        First stage: reconstruction (squared error a value), codes_used (share of the codebook). Second stage:
        also loss (a code, with the right ones before it), accuracy (of these codes), exact (share of right
        codes in pictures drawn greedily from the caption alone), exact_shape (the same without the commonest
        code of each picture, as a rule its paper), whole (pictures right in every code), and ranked_first (of
        a batch, the pictures that the ranker finds for their captions).
        """
        metrics = self._seen_again(model)
        if step <= model.settings.dvae_steps:  # type: ignore[union-attr, operator]
            metrics |= {"loss": metrics["reconstruction"], "accuracy": 0.0, "exact": 0.0}
            return Validation(metrics, selectable=False)
        metrics |= self._likelihood(model, step)
        right_Nn, true_Nn = self._right(model)
        shape_Nn = true_Nn != true_Nn.mode(dim=1, keepdim=True).values
        metrics["exact"] = right_Nn.float().mean().item()
        metrics["exact_shape"] = ((right_Nn & shape_Nn).sum() / shape_Nn.sum().clamp_min(1)).item()
        metrics["whole"] = right_Nn.all(dim=1).float().mean().item()
        lines = [
            f"{self.batches.texts[row]}: {int(right.sum())} of {len(right)} codes right"
            for row, right in zip(self.drawn[:SHOWN], right_Nn, strict=False)
        ]
        return Validation(metrics, "\n".join(lines))

    def _seen_again(self, model: nn.Module) -> dict[str, float]:
        """How well pictures come back through their codes."""
        error, used = 0.0, set[int]()
        for rows in self._batched(self.rows):
            batch = self.batches.batch(rows).to(self.device)
            with self._cast():
                codes = model.codes(batch.pixels_BChw)  # type: ignore[operator]
                again = model.pixels(codes)  # type: ignore[operator]
            error += F.mse_loss(again.float(), batch.pixels_BChw, reduction="sum").item()
            used |= set(codes.flatten().tolist())
        values = len(self.rows) * self.batches.store.pixels[0].size
        return {
            "reconstruction": error / values,
            "codes_used": len(used) / int(model.settings.codes),  # type: ignore[union-attr, arg-type]
        }

    def _likelihood(self, model: nn.Module, step: int) -> dict[str, float]:
        names = ("loss", "accuracy", "ranked_first")
        sums = dict.fromkeys(names, 0.0)
        for rows in self._batched(self.rows):
            with self._cast():
                loss = model.loss(self.batches.batch(rows).to(self.device), step)  # type: ignore[operator]
            for name in names:
                sums[name] += loss[name].sum.item()
        return {name: value / len(self.rows) for name, value in sums.items()}

    def _right(self, model: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
        """Which codes of greedily drawn pictures are right, and the right ones, (N, n) each."""
        artist = ImageGenerator(model, self.batches.tokenizer, device=self.device, precision=self.precision)
        found, true = [], []
        for rows in self._batched(self.drawn):
            pixels = self.batches.batch(rows).to(self.device).pixels_BChw
            with self._cast():
                true_Bn = model.codes(pixels).cpu()  # type: ignore[operator]
            greedy = SearchSettings(temperature=0)
            drawn_Bn = artist.codes([self.batches.ids[row] for row in rows], greedy, keys=rows)
            found.append(drawn_Bn == true_Bn)
            true.append(true_Bn)
        return torch.cat(found), torch.cat(true)

    def _cast(self) -> AbstractContextManager[object]:
        return hardware.autocast(self.device, hardware.pick_dtype(self.precision, self.device))

    def _batched(self, rows: list[int]) -> list[list[int]]:
        return [rows[start : start + self.size] for start in range(0, len(rows), self.size)]


def _spread(total: int, most: int) -> list[int]:
    found: list[int] = np.linspace(0, total - 1, min(total, most)).round().astype(int).tolist()
    return found
