"""Validation of a text classifier: loss, accuracy, F1."""

import torch
from torch import nn

from multihead.data.text_batches import collate_labelled, evaluation_batches, lengths
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.scores.classes import class_scores
from multihead.system import hardware
from multihead.tasks.images.validation import most_confused
from multihead.tasks.masked.texts import PreparedTexts
from multihead.training import Validation


class Validator:
    """Validates a model on at most ``validation.max_examples`` of the prepared texts."""

    def __init__(self, texts: PreparedTexts, recipe: Recipe[Settings], device: torch.device) -> None:
        self.texts, self.device = texts, device
        self.max_length: int = recipe.data.max_length
        self.dtype = hardware.pick_dtype(recipe.training.precision, device)
        self.names: tuple[str, ...] = recipe.model.class_names  # type: ignore[attr-defined]
        used = lengths(texts.valid, self.max_length)
        self.batches = evaluation_batches(used, recipe.training.batch_tokens, recipe.validation.max_examples)

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per text, accuracy and macro F1; frequent confusions as samples."""
        nll, labels, predicted = 0.0, [], []
        for rows in self.batches:
            batch = collate_labelled(self.texts.valid, rows, self.texts.tokenizer, self.max_length)
            with hardware.autocast(self.device, self.dtype):
                logits_BK = model(batch.input.to(self.device))
            log_p_BK = logits_BK.float().log_softmax(-1).cpu()
            nll -= log_p_BK.gather(1, batch.labels_B[:, None]).sum().item()
            labels += batch.labels_B.tolist()
            predicted += log_p_BK.argmax(1).tolist()
        scores = class_scores(labels, predicted, len(self.names))
        metrics = {"loss": nll / len(labels), "accuracy": scores.accuracy, "f1": scores.f1}
        return Validation(metrics, most_confused(scores, self.names))
