"""Settings of question answering by spans."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, PositiveInt, model_validator

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import TrainingSettings, ValidationSchedule
from multihead.tasks.masked.settings import TokenizerSettings

SPECIALS = 3
"""Special tokens of an input: [CLS] question [SEP] text [SEP]."""


class DataSettings(Settings):
    """Questions, texts, and answers that are parts of them: TSV files with a header, without quoting."""

    dir: str = "."
    """Base folder of the file names below."""
    files: tuple[str, ...] = ()
    """Training file(s), plain or compressed."""
    valid_files: tuple[str, ...] = ()
    """Validation file(s). Default: hold out part of the texts."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead evaluate RUN`: name = ["file", ...]."""
    generate: Literal["", "key_values"] = ""
    """Questions that multihead generates, in place of files. key_values: texts such as "mu: 17; ka: 204"; the
    question is a key, the answer its entry, "ka: 204"; a fifth of the questions have none."""
    generated: PositiveInt = 50_000
    """Number of generated questions."""
    generated_tests: PositiveInt = 10_000
    """Number of questions in the generated test set, whose seed is fixed."""
    length: PositiveInt = 6
    """Largest number of keys in a generated text."""
    valid_fraction: float = Field(0.05, gt=0, lt=1)
    """Fraction of the texts held out for validation by default, 20 at least (of a few, a fifth), with all
    their questions."""
    seed: int = 1
    """Seeds the choice of validation data and the generated questions, independently of training.seed."""
    question_field: str = "question"
    """Name of the question column in the header."""
    text_field: str = "text"
    """Name of the text column in the header."""
    answer_field: str = "answer"
    """Name of the answer column in the header: a part of the text, letter for letter; empty: the text has no
    answer (SQuAD 2.0)."""
    start_field: str = "start"
    """Name of the column of the answers' offsets in characters, from 0. The header may lack it; training
    needs the offset of an answer that occurs several times in its text."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and in use; answers keep their case."""
    max_length: int = Field(128, ge=8)
    """Maximum input length in tokens: question, text and special tokens. Longer texts are read in windows."""
    stride: PositiveInt = 64
    """Tokens from the beginning of a window to that of the next; what windows share is what an answer may be
    long and still lie in one of them as a whole."""
    max_question: PositiveInt = 32
    """Maximum length of a question in tokens; longer ones are truncated."""
    max_answer: PositiveInt = 30
    """Maximum length of an answer in tokens, in use."""

    @model_validator(mode="after")
    def _windows_cover_the_text(self) -> Self:
        room = self.max_length - SPECIALS - self.max_question
        if self.stride > room:
            raise ValueError(
                f"stride {self.stride} is more than the {room} tokens of a text that fit beside a question "
                f"(max_length {self.max_length} - {SPECIALS} - max_question {self.max_question})"
            )
        return self


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["f1", "exact", "loss"] = "f1"
    """Metric that selects the best checkpoint, as SQuAD defines it; f1: of the words of answers; exact: share
    of answers without a wrong word; loss: negative log-likelihood per window."""
    max_examples: PositiveInt = 5000
    """Maximum number of validation questions."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, except the model's."""
