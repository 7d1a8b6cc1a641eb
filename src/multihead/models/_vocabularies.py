"""Vocabularies and embeddings of text-to-text models, with optional weight tying."""

from typing import Literal

from pydantic import Field, PositiveInt, model_validator

from multihead.nn import TokenEmbedding
from multihead.recipe import settings


class Vocabularies(settings.Settings):
    """Settings of a text-to-text model."""

    source_vocab: PositiveInt = 37_000
    """Size of the source vocabulary; set by the tokenizer."""
    target_vocab: PositiveInt = 37_000
    """Size of the target vocabulary; set by the tokenizer."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Label smoothing, epsilon_ls (Szegedy et al. 2016, sec. 7)."""
    tied: Literal["all", "decoder", "none"] = "none"
    """Weight tying (Press and Wolf 2017): one matrix for both embeddings and the output layer (all), for the
    target embedding and the output layer (decoder), or for none."""

    @model_validator(mode="after")
    def _one_vocabulary(self) -> "Vocabularies":
        if self.tied == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                f'tied = "all" needs one vocabulary, not two of {self.source_vocab} and {self.target_vocab}; '
                'set tokenizer.joint = true, or tied = "decoder"'
            )
        return self


def embeddings(
    s: Vocabularies, d_embedding: int, *, d_output: int | None = None, size: float = 1.0
) -> tuple[TokenEmbedding, TokenEmbedding, TokenEmbedding]:
    """Return the source embedding, the target embedding, and the output layer, tied as the settings say.

    Args:
        s: the model's settings.
        d_embedding: width of the embeddings.
        d_output: width of an untied output layer's input; default d_embedding.
        size: see ``TokenEmbedding``.
    """
    target = TokenEmbedding(s.target_vocab, d_embedding, size=size)
    source = target if s.tied == "all" else TokenEmbedding(s.source_vocab, d_embedding, size=size)
    output = target if s.tied != "none" else TokenEmbedding(s.target_vocab, d_output or d_embedding)
    return source, target, output
