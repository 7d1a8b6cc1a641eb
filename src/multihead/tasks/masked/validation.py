"""Validation of a masked language model: likelihood of masked tokens, next-sentence accuracy, samples."""

import math
from itertools import islice

import torch
from torch import nn

from multihead.data.text_batches import SPECIALS, evaluation_batches, lengths
from multihead.nn.losses import validation_terms
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.system import hardware
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.masked.mask_tokens import MASK, encode_masked
from multihead.tasks.masked.masking import MaskedBatches
from multihead.tasks.masked.texts import PreparedTexts
from multihead.text.tokenizer import Tokenizer
from multihead.training import Validation

EPOCH = 0
"""Every validation uses the masks of epoch 0, so that validations are comparable."""


class Validator:
    """Validates a model on at most ``validation.max_examples`` of the prepared texts."""

    def __init__(
        self, texts: PreparedTexts, collate: MaskedBatches, recipe: Recipe[Settings], device: torch.device
    ) -> None:
        self.collate, self.device, self.precision = collate, device, recipe.training.precision
        self.tokenizer = texts.tokenizer
        used = lengths(texts.valid, recipe.data.max_length)
        self.batches = evaluation_batches(used, recipe.training.batch_tokens, recipe.validation.max_examples)
        masked = (_mask(text, self.tokenizer, recipe.data.max_length - SPECIALS) for text in texts.samples)
        self.samples = list(islice(filter(None, masked), recipe.validation.samples))

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per masked token, perplexity and accuracy, next-sentence loss and accuracy; samples."""
        dtype = hardware.pick_dtype(self.precision, self.device)
        sums = {"loss": 0.0, "accuracy": 0.0, "next_loss": 0.0, "next_accuracy": 0.0}
        masked = pairs = 0
        for rows in self.batches:
            batch = self.collate(rows, EPOCH)
            with hardware.autocast(self.device, dtype):
                loss = model.loss(batch.to(self.device), step)  # type: ignore[operator]
            validation_terms(loss, "loss", "accuracy")
            for name in sums.keys() & loss.keys():
                sums[name] += loss[name].sum.item()
            masked, pairs = masked + len(batch.places_M), pairs + batch.pairs
        # Texts with unknown tokens only have no mask.
        nll = sums["loss"] / masked if masked else math.nan
        accuracy = sums["accuracy"] / max(1, masked)
        metrics = {"loss": nll, "perplexity": math.exp(min(nll, 700)), "accuracy": accuracy}
        if pairs:
            metrics |= {name: sums[name] / pairs for name in ("next_loss", "next_accuracy")}
        filler = MaskFiller(model, self.tokenizer, device=self.device, precision=self.precision)
        samples = []
        for text, answer in self.samples:
            top3 = filler.fill(text).gaps[0][:3]
            predictions = ", ".join(f"{guess.piece} {guess.probability:.2f}" for guess in top3)
            samples.append(f"text         {text}\nanswer       {answer}\npredictions  {predictions}")
        return Validation(metrics, "\n\n".join(samples))


def _mask(text: str, tokenizer: Tokenizer, limit: int) -> tuple[str, str] | None:
    """Return a text's beginning with its middle word masked, and that word; None if too few words fit."""
    for words in (text.split()[:count] for count in (20, 10, 5, 3)):
        middle = len(words) // 2
        masked = " ".join([*words[:middle], MASK, *words[middle + 1 :]])
        if len(words) > 2 and len(encode_masked(tokenizer, masked)) <= limit:
            return masked, words[middle]
    return None
