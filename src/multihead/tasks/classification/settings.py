"""Settings of text classification."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from multihead.recipe.settings.base import Settings, distinct
from multihead.recipe.settings.training import TrainingSettings as Base
from multihead.recipe.settings.training import ValidationSchedule
from multihead.tasks.masked.settings import LabelledTokenizerSettings


class DataSettings(Settings):
    """Labelled texts or pairs of texts: TSV files with a header; quotes have no special meaning."""

    dir: str = "."
    """Base folder of the file names below."""
    files: tuple[str, ...] = ()
    """Training file(s), plain or compressed."""
    valid_files: tuple[str, ...] = ()
    """Validation file(s). Default: hold out part of the texts."""
    generate: Literal["", "same_words"] = ""
    """Pairs of texts that multihead generates, in place of files. same_words: has the second text the words
    of the first, in another order?"""
    generated: PositiveInt = 50_000
    """Number of generated pairs."""
    generated_tests: PositiveInt = 10_000
    """Number of pairs in the generated test set, whose seed is fixed."""
    length: PositiveInt = 6
    """Length of the generated texts in words."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead classify RUN --tests`: name = ["file", ...]."""
    valid_fraction: float = Field(0.05, gt=0, lt=1)
    """Fraction of the texts held out for validation by default, 20 at least (of a few, a fifth); equal texts
    stay together."""
    seed: int = 1
    """Seeds the choice of validation data and the generated pairs, independently of training.seed."""
    text_field: str = "text"
    """Name of the text column in the header."""
    pair_field: str = ""
    """Name of the column of second texts, for pairs of texts (Devlin et al. 2019, sec. 4.1); empty: single
    texts."""
    label_field: str = "label"
    """Name of the label column in the header."""
    class_names: tuple[str, ...] = ()
    """Names of the classes, in the order of their sorted labels; default: the labels."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and in use."""
    max_length: int = Field(128, ge=8)
    """Maximum input length in tokens, special tokens included; longer texts are truncated, of a pair the
    longer text first."""
    cache: str = ""
    """Folder of prepared data; default: the user's cache folder."""

    @property
    def pairs(self) -> bool:
        """True if the model reads pairs of texts."""
        return bool(self.pair_field or self.generate)

    _class_names = field_validator("class_names")(distinct)


class TrainingSettings(Base):
    """Optimiser, learning-rate schedule, batch size, checkpoint averaging and hardware."""

    layer_decay: float = Field(1.0, gt=0, le=1)
    """Layer-wise learning-rate decay: each layer's rate is this fraction of the rate of the layer above, so
    that the lowest, most general layers change least (Howard and Ruder 2018, sec. 3.2); 1: none."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["accuracy", "f1", "loss"] = "accuracy"
    """Metric that selects the best checkpoint; f1: macro-averaged F1; loss: negative log-likelihood per
    text."""
    max_examples: PositiveInt = 10_000
    """Maximum number of validation texts."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": LabelledTokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, except the model's."""
