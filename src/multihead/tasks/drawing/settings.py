"""Settings of text-to-image generation."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import OptimisationSettings, ValidationSchedule


class DataSettings(Settings):
    """Captioned images."""

    dir: str = "."
    """Base folder of the names below."""
    captions: str = ""
    """List of images: a CSV or TSV file with columns file and caption, named in its first line."""
    images: str = ""
    """Folder or .zip file of the images; default: the folder of the list."""
    generate: Literal["", "shapes"] = ""
    """Captioned images that multihead generates, in place of files."""
    train_fraction: float = Field(0.9, gt=0, lt=1)
    """Fraction of the images to train on; the captions of the others never occur in training."""
    seed: int = 1
    """Seeds the choice of training images, independently of training.seed."""
    image_size: NonNegativeInt = 0
    """Height and width that images are resized to, in pixels; 0: the shorter side of the first image."""
    channels: Literal["auto", "grey", "colour"] = "auto"
    """Convert images to greyscale or to colour; "auto": as the first image."""
    cache: str = ""
    """Folder of prepared data; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """Tokenizer and vocabulary of the captions."""

    kind: Literal["words", "bpe", "chars"] = "words"
    """Tokenizer: whole words, byte-pair encoding, or characters."""
    vocab_size: PositiveInt = 2000
    """Maximum vocabulary size, special tokens included."""


class TrainingSettings(OptimisationSettings):
    """Optimiser, learning-rate schedule, batch size, checkpoint averaging and hardware."""

    batch_images: PositiveInt = 64
    """Batch size: images per batch."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["exact", "accuracy"] = "exact"
    """Metric that selects the best checkpoint: the fraction of image codes predicted correctly for unseen
    captions, when decoded greedily (exact) or with the true codes before each (accuracy)."""
    max_examples: PositiveInt = 500
    """Maximum number of validation images."""
    drawn: PositiveInt = 64
    """Maximum number of validation images to generate, for metric exact."""


class SearchSettings(Settings):
    """Image generation."""

    temperature: float = Field(1.0, ge=0)
    """Sampling temperature, by which logits are divided; 0: always the most probable code."""
    top_k: int = Field(0, ge=0)
    """Top-k sampling: sample from the k most probable codes; 0: from all."""
    top_p: PositiveFloat = Field(1.0, le=1)
    """Top-p (nucleus) sampling: sample from the most probable codes with this total probability; 1: from
    all."""
    guidance: float = Field(1.0, ge=0)
    """Classifier-free guidance scale: extrapolates logits away from those without a caption (Ho and Salimans
    2022); 1: none."""
    candidates: NonNegativeInt = 0
    """Images to generate for reranking; the best-ranked are kept. 0: as many as requested."""
    seed: int = 1
    """Random seed of sampling."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
    "search": SearchSettings,
}
"""The sections of a recipe, except the model's."""
