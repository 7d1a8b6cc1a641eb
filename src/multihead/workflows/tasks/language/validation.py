"""Validation of a language model: likelihood and generated samples."""

import math

import torch
from torch import nn

from multihead import hardware
from multihead.data.packed import PackedText
from multihead.data.windows import evaluation_batches
from multihead.generation.text_generator import TextGenerator
from multihead.recipe import Recipe
from multihead.settings import Settings
from multihead.training import Validation


class Validator:
    """Validates a model on the prepared validation text, at most ``validation.max_tokens`` of it."""

    def __init__(self, text: PackedText, recipe: Recipe[Settings], device: torch.device) -> None:
        self.text, self.device = text, device
        self.settings, self.batch_tokens = recipe.validation, recipe.training.batch_tokens
        self.precision = recipe.training.precision
        self.documents = recipe.data.documents
        self.search = recipe.search.model_copy(
            update={"max_tokens": recipe.validation.sample_tokens, "stop": ()}
        )

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per token, perplexity, bits per character and accuracy; generated texts as samples."""
        dtype = hardware.pick_dtype(self.precision, self.device)
        sums = {"loss": 0.0, "accuracy": 0.0}
        tokens = 0
        for batch in evaluation_batches(
            self.text.valid,
            context=model.context,  # type: ignore[arg-type]
            batch_tokens=self.batch_tokens,
            most=self.settings.max_tokens,
        ):
            with hardware.autocast(self.device, dtype):
                loss = model.loss(batch.to(self.device), step)  # type: ignore[operator]
            for name in sums:
                sums[name] += loss[name].sum.item()
            tokens += batch.tokens
        nll = sums["loss"] / tokens
        metrics = {
            "loss": nll,
            "perplexity": math.exp(min(nll, 700)),
            "bits_per_character": nll / math.log(2) * len(self.text.valid) / self.text.characters[1],
            "accuracy": sums["accuracy"] / tokens,
        }
        generator = TextGenerator(
            model, self.text.tokenizer, device=self.device, precision=self.precision, documents=self.documents
        )
        samples = [
            "".join(generator.write("", self.search, number=number))
            for number in range(self.settings.samples)
        ]
        return Validation(metrics, "\n\n---\n\n".join(samples))
