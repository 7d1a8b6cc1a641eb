"""Validation of a tagger: loss, accuracy, sentences without errors, F1."""

import numpy as np
import torch
from torch import nn

from multihead.data.text_batches import evaluation_batches
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.system import hardware
from multihead.tasks.tagging.tagged import PreparedTags
from multihead.tasks.tagging.tagger import tag_scores
from multihead.training import Validation

SAMPLES = 3
"""Number of sentences in the samples."""
WORDS = 24
"""Maximum number of words of a sentence in the samples."""


class Validator:
    """Validates a model on at most ``validation.max_examples`` of the prepared sentences."""

    def __init__(self, prepared: PreparedTags, recipe: Recipe[Settings], device: torch.device) -> None:
        self.prepared, self.device = prepared, device
        self.max_length: int = recipe.data.max_length
        self.dtype = hardware.pick_dtype(recipe.training.precision, device)
        lengths = prepared.valid.lengths(self.max_length)
        self.batches = evaluation_batches(
            lengths, recipe.training.batch_tokens, recipe.validation.max_examples
        )

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per word, accuracy, share of sentences without errors, and F1; samples."""
        names, texts = self.prepared.names, self.prepared.valid
        nll, true, predicted = 0.0, [], []
        samples: dict[int, str] = {}
        for rows in self.batches:
            batch = texts.batch(rows, self.prepared.tokenizer, self.max_length)
            with hardware.autocast(self.device, self.dtype):
                logits_BNK = model(batch.input.to(self.device))
            log_p_BNK = logits_BNK.float().log_softmax(-1).cpu()
            begins = batch.tags_BN >= 0
            nll -= log_p_BNK[begins].gather(1, batch.tags_BN[begins][:, None]).sum().item()
            best_BN = log_p_BNK.argmax(-1)
            for row, tags_N, best_N, inside in zip(
                rows.tolist(), batch.tags_BN, best_BN, begins, strict=True
            ):
                true.append([names[number] for number in tags_N[inside].tolist()])
                predicted.append([names[number] for number in best_N[inside].tolist()])
                if row < SAMPLES:
                    samples[row] = sample(texts.sentences[row].words, true[-1], predicted[-1])
        scores = tag_scores(true, predicted, names)
        metrics = {
            "loss": nll / max(1, scores.scores.count),
            "accuracy": scores.scores.accuracy,
            "exact": scores.exact,
            "f1": scores.f1,
        }
        return Validation(metrics, "\n\n".join(samples[row] for row in sorted(samples)))


def sample(words: tuple[str, ...], true: list[str], predicted: list[str]) -> str:
    """Return the words of a sentence with their true and predicted tags below them, in columns."""
    shown = min(WORDS, len(true))  # of a truncated sentence
    rows = [list(row[:shown]) for row in (words, true, predicted)]
    widths = np.array([[len(cell) for cell in row] for row in rows]).max(axis=0)
    labels = ("words", "tags", "output")
    return "\n".join(
        f"{label:7}" + " ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)).rstrip()
        for label, row in zip(labels, rows, strict=True)
    )
