"""Validation of an image classifier: loss, accuracy, F1, and the most frequent confusions."""

import numpy as np
import torch
from torch import nn

from multihead.data.images.store import ImageStore
from multihead.data.plan import evenly_spaced
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.scores.classes import ClassScores, class_scores
from multihead.system import hardware
from multihead.tasks.images.batches import sequential_batches
from multihead.training import Validation

CONFUSIONS = 5
"""Number of pairs of classes in the samples."""


class Validator:
    """Validates a model on at most ``validation.max_examples`` evenly spaced images."""

    def __init__(self, store: ImageStore, recipe: Recipe[Settings], device: torch.device) -> None:
        self.store, self.device = store, device
        self.dtype = hardware.pick_dtype(recipe.training.precision, device)
        self.batch_images = recipe.training.batch_images
        self.names: tuple[str, ...] = getattr(recipe.model, "class_names", ())
        self.indices = evenly_spaced(len(store), recipe.validation.max_examples).tolist()

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per image (without smoothing), accuracy, macro F1; frequent confusions as samples."""
        nll, predicted = 0.0, []
        for _, batch in sequential_batches(self.store, self.indices, self.batch_images):
            with hardware.autocast(self.device, self.dtype):
                logits_BK = model(batch.to(self.device).pixels_BChw)
            log_p_BK = logits_BK.float().log_softmax(dim=-1).cpu()
            nll -= log_p_BK.gather(1, batch.labels_B2[:, :1]).sum().item()
            predicted += log_p_BK.argmax(dim=1).tolist()
        scores = class_scores(self.store.labels[self.indices].tolist(), predicted, len(self.names))
        metrics = {"loss": nll / len(predicted), "accuracy": scores.accuracy, "f1": scores.f1}
        return Validation(metrics, most_confused(scores, self.names))


def most_confused(scores: ClassScores, names: tuple[str, ...]) -> str:
    """Return the most frequent confusions, as lines."""
    wrong = scores.confusion - np.diag(np.diag(scores.confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:CONFUSIONS]
    pairs = [np.unravel_index(place, wrong.shape) for place in order]
    total = scores.confusion.sum(axis=1)
    return "\n".join(
        f"{names[label]} classified as {names[predicted]}: {wrong[label, predicted]:,} of {total[label]:,}"
        for label, predicted in pairs
        if wrong[label, predicted]
    )
