"""Validation of a language model: likelihood and generated samples."""

import torch
from torch import nn

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.tasks.language.packed import PackedText
from multihead.tasks.language.text_generator import TextGenerator
from multihead.tasks.language.text_likelihood import likelihood
from multihead.training import Validation


class Validator:
    """Validates a model on the prepared validation text, at most ``validation.max_examples`` tokens."""

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
        scores = likelihood(
            model,
            self.text.valid,
            self.text.characters[1],
            device=self.device,
            precision=self.precision,
            batch_tokens=self.batch_tokens,
            most=self.settings.max_examples,
        )
        metrics = {
            "loss": scores.nll,
            "perplexity": scores.perplexity,
            "bits_per_character": scores.bits_per_character,
            "accuracy": scores.accuracy,
        }
        generator = TextGenerator(
            model, self.text.tokenizer, device=self.device, precision=self.precision, documents=self.documents
        )
        samples = [
            "".join(generator.write("", self.search, number=number))
            for number in range(self.settings.samples)
        ]
        return Validation(metrics, "\n\n---\n\n".join(samples))
