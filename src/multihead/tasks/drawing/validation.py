"""Validation of a text-to-image model: reconstruction, likelihood, images generated for new captions."""

from contextlib import AbstractContextManager

import torch
import torch.nn.functional as F
from torch import nn

from multihead.data.plan import evenly_spaced
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.system import hardware
from multihead.tasks.drawing.caption_batches import CaptionBatches
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.drawing.settings import SearchSettings
from multihead.training import Validation

SAMPLES = 5
"""Captions in the samples."""


class Validator:
    """Validates a model on held-out captions, at most ``validation.max_examples`` of them."""

    def __init__(self, batches: CaptionBatches, recipe: Recipe[Settings], device: torch.device) -> None:
        self.batches, self.device = batches, device
        self.precision: hardware.Precision = recipe.training.precision
        self.size: int = recipe.training.batch_images
        total = len(batches.store)
        self.rows = evenly_spaced(total, recipe.validation.max_examples).tolist()
        self.drawn = evenly_spaced(total, recipe.validation.drawn).tolist()

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return the metrics of the current stage; the samples count the correct codes of some captions.

        Both stages: ``reconstruction`` (mean squared error) and ``codes_used`` (share of the codebook).
        Second stage also: ``loss`` and ``accuracy`` per code by teacher forcing; ``exact`` (share of correct
        codes in images generated greedily from the caption alone); ``exact_shape`` (the same without the
        most frequent code of each image, usually its background); ``whole`` (share of images with every
        code correct); ``ranked_first`` (share of captions whose image the ranker finds within its batch).
        """
        metrics = self._reconstruction(model)
        if step <= model.settings.dvae_steps:  # type: ignore[union-attr, operator]
            metrics |= {"loss": metrics["reconstruction"], "accuracy": 0.0, "exact": 0.0}
            return Validation(metrics, selectable=False)
        metrics |= self._likelihood(model, step)
        correct_Nn, true_Nn = self._correct(model)
        shape_Nn = true_Nn != true_Nn.mode(dim=1, keepdim=True).values
        metrics["exact"] = correct_Nn.float().mean().item()
        metrics["exact_shape"] = ((correct_Nn & shape_Nn).sum() / shape_Nn.sum().clamp_min(1)).item()
        metrics["whole"] = correct_Nn.all(dim=1).float().mean().item()
        lines = [
            f"{self.batches.texts[row]}: {int(correct.sum())} of {len(correct)} codes correct"
            for row, correct in zip(self.drawn[:SAMPLES], correct_Nn, strict=False)
        ]
        return Validation(metrics, "\n".join(lines))

    def _reconstruction(self, model: nn.Module) -> dict[str, float]:
        """Return the reconstruction error and the share of codes in use."""
        error, used = 0.0, set[int]()
        for rows in self._batch(self.rows):
            batch = self.batches.batch(rows).to(self.device)
            with self._cast():
                codes = model.codes(batch.pixels_BChw)  # type: ignore[operator]
                decoded = model.pixels(codes)  # type: ignore[operator]
            error += F.mse_loss(decoded.float(), batch.pixels_BChw, reduction="sum").item()
            used |= set(codes.flatten().tolist())
        values = len(self.rows) * self.batches.store.pixels[0].size
        return {
            "reconstruction": error / values,
            "codes_used": len(used) / int(model.settings.codes),  # type: ignore[union-attr, arg-type]
        }

    def _likelihood(self, model: nn.Module, step: int) -> dict[str, float]:
        names = ("loss", "accuracy", "ranked_first")
        sums = dict.fromkeys(names, 0.0)
        for rows in self._batch(self.rows):
            with self._cast():
                loss = model.loss(self.batches.batch(rows).to(self.device), step)  # type: ignore[operator]
            for name in names:
                sums[name] += loss[name].sum.item()
        return {name: value / len(self.rows) for name, value in sums.items()}

    def _correct(self, model: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
        """Return which codes of greedily generated images are correct, and the true codes, (N, n) each."""
        generator = ImageGenerator(
            model, self.batches.tokenizer, device=self.device, precision=self.precision
        )
        correct, true = [], []
        for rows in self._batch(self.drawn):
            pixels = self.batches.batch(rows).to(self.device).pixels_BChw
            with self._cast():
                true_Bn = model.codes(pixels).cpu()  # type: ignore[operator]
            greedy = SearchSettings(temperature=0)
            codes_Bn = generator.codes([self.batches.ids[row] for row in rows], greedy, keys=rows)
            correct.append(codes_Bn == true_Bn)
            true.append(true_Bn)
        return torch.cat(correct), torch.cat(true)

    def _cast(self) -> AbstractContextManager[object]:
        return hardware.autocast(self.device, hardware.pick_dtype(self.precision, self.device))

    def _batch(self, rows: list[int]) -> list[list[int]]:
        return [rows[start : start + self.size] for start in range(0, len(rows), self.size)]
