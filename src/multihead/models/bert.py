"""BERT: an encoder for masked language modelling and next sentence prediction (Devlin et al. 2019)."""

from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import Input, MaskedBatch
from multihead.models._attention import EncoderAttentionSettings, feed_forward, is_reversible, self_attention
from multihead.nn import (
    LearnedPositions,
    Loss,
    PostNorm,
    PreNorm,
    TokenEmbedding,
    TransformerEncoder,
    description,
    masks,
)
from multihead.nn.description import (
    EmbeddingSpec,
    LinearSpec,
    MaskedSpec,
    PositionsSpec,
    StackSpec,
    UndescribedError,
    describe,
)
from multihead.nn.feed_forward import ACTIVATIONS
from multihead.nn.initialisation import initialise
from multihead.nn.losses import LossTerm, smoothed_cross_entropy
from multihead.nn.modules import Dropout, set_epsilon
from multihead.nn.parts.relative_scores import RelativePositions
from multihead.nn.parts.reversible import ReversibleStack
from multihead.nn.positions import NoPositions

TASK = "masked"
SEGMENTS = 2


class Settings(EncoderAttentionSettings):
    """Settings of BERT; the defaults are BERT-base (sec. 3)."""

    vocab_size: PositiveInt = 30_522
    """Size of the vocabulary; set by the tokenizer."""
    max_positions: PositiveInt = 512
    """Maximum length of the input, special tokens included."""
    d_model: PositiveInt = 768
    """Width of embeddings and of the residual stream, H in the paper."""
    num_layers: PositiveInt = 12
    """Number of layers, L in the paper."""
    num_heads: PositiveInt = 12
    """Number of attention heads, A in the paper."""
    d_ff: NonNegativeInt = 0
    """Inner width of the feed-forward networks; 0: 4 d_model."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of every sublayer's output, of the embeddings, and before the classifier."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of attention weights."""
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    """Activation of the feed-forward networks."""
    positions: Literal["learned", "relative"] = "learned"
    """Positions: learned and added to the embeddings as published, or relative position vectors (Shaw et al.
    2018), which learn from little text what neighbours mean for a token."""
    norm_epsilon: PositiveFloat = 1e-5
    """Epsilon added to the variance in layer norms (the authors' code: 1e-12)."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.d_model % self.num_heads:
            raise ValueError(f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}")
        if self.positions == "relative" and self.attention != "full":
            raise ValueError(f'positions = "relative" needs attention = "full", not "{self.attention}"')
        return self


class BERTEncoder(nn.Module):
    """Token, segment and position embeddings, then layers of self-attention (sec. 3, figure 2)."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        reversible = is_reversible(s)

        def relative() -> RelativePositions:
            return RelativePositions(s.d_model // s.num_heads, dropout=s.attention_dropout)

        self.stack = (ReversibleStack if reversible else TransformerEncoder)(
            s.num_layers,
            s.d_model,
            attention=self_attention(
                s,
                s.d_model,
                s.num_heads,
                dropout=s.attention_dropout,
                length=s.max_positions,
                causal=False,
                score=relative if s.positions == "relative" else None,
            ),
            feed_forward=feed_forward(s, s.d_model, s.d_ff or 4 * s.d_model, s.activation),
            residual=PreNorm if reversible else PostNorm,
            dropout=s.dropout,
        )
        # A factor of 1: the matrix is initialised small, and is the output layer's too.
        self.embedding = TokenEmbedding(s.vocab_size, s.d_model, size=s.d_model**-0.5)
        self.segments = TokenEmbedding(SEGMENTS, s.d_model, size=s.d_model**-0.5)
        self.positions = (
            LearnedPositions(s.max_positions, s.d_model) if s.positions == "learned" else NoPositions()
        )
        self.norm = nn.LayerNorm(s.d_model)
        self.dropout = Dropout(s.dropout)
        self.pool = nn.Linear(s.d_model, s.d_model)
        for embedding in (self.embedding, self.segments):
            nn.init.normal_(embedding.weight, std=0.02)
        initialise(self, "normal")
        set_epsilon(self, s.norm_epsilon)

    def forward(self, read: Input, features_BNd: Tensor | float = 0.0) -> Tensor:
        """The contextual embedding of each token, (B, N, d_model); features are added to its input."""
        x_BNd = self.positions(self.embedding(read.ids_BN) + self.segments(read.segments_BN) + features_BNd)
        x_BNd = self.dropout(self.norm(x_BNd))
        hidden_BNd: Tensor = self.stack(x_BNd, masks.padding(read.lengths_B, read.ids_BN.shape[1]))
        return hidden_BNd

    def pooled_output(self, hidden_BNd: Tensor) -> Tensor:
        """The pooled output: tanh of a projection of [CLS], (B, d_model)."""
        whole: Tensor = self.pool(hidden_BNd[:, 0])
        return whole.tanh()


class BERT(nn.Module):
    """Maps masked texts to logits of the masked tokens, and of whether the second text follows the first."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        self.encoder = BERTEncoder(s)
        self.transform = nn.Linear(s.d_model, s.d_model)
        self.transform_norm = nn.LayerNorm(s.d_model, s.norm_epsilon)
        self.output_bias = nn.Parameter(torch.zeros(s.vocab_size))
        self.follows = nn.Linear(s.d_model, 2)
        self.activation = ACTIVATIONS[s.activation]
        for part in (self.transform, self.follows):
            initialise(part, "normal")

    @property
    def limit(self) -> int:
        """Maximum length of the input, special tokens included."""
        return self.settings.max_positions

    def forward(self, read: Input) -> tuple[Tensor, Tensor]:
        """Logits of every token, (B, N, V), and of next sentence prediction (no, yes), (B, 2)."""
        hidden_BNd = self.encoder(read)
        return self.token_logits(hidden_BNd), self.follows(self.encoder.pooled_output(hidden_BNd))

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Logits of tokens, (..., d_model) to (..., V): a hidden layer, then the embeddings."""
        transformed = self.transform_norm(self.activation(self.transform(hidden)))
        return self.encoder.embedding.logits(transformed) + self.output_bias

    def loss(self, batch: MaskedBatch, step: int) -> Loss:
        """Masked language modelling and next sentence losses (sec. 3.1); both accuracies as metrics."""
        hidden_BNd = self.encoder(batch.input)
        logits_MV = self.token_logits(hidden_BNd.flatten(0, 1)[batch.places_M])
        loss, _, correct = smoothed_cross_entropy(logits_MV, batch.answers_M, 0.0)
        terms = {"loss": LossTerm(1.0, loss, per="masked"), "accuracy": LossTerm(0.0, correct, per="masked")}
        if batch.pairs:
            is_pair_B = batch.follows_B >= 0
            logits_P2 = self.follows(self.encoder.pooled_output(hidden_BNd))[is_pair_B]
            loss, _, correct = smoothed_cross_entropy(logits_P2, batch.follows_B[is_pair_B], 0.0)
            terms["next_loss"] = LossTerm(1.0, loss, per="pairs")
            terms["next_accuracy"] = LossTerm(0.0, correct, per="pairs")
        return terms

    def describe(self) -> MaskedSpec:
        """The description that exports read."""
        encoder = self.encoder
        embedding = describe(encoder.embedding, EmbeddingSpec)
        norms = [description.describe_norm(norm) for norm in (encoder.norm, self.transform_norm)]
        if norms[0] is None or norms[1] is None or type(encoder) is not BERTEncoder:
            raise UndescribedError("an encoder of another class, or without its norms")
        return MaskedSpec(
            embedding,
            encoder.segments.weight,
            describe(encoder.positions, PositionsSpec),
            norms[0],
            describe(encoder.stack, StackSpec),
            description.describe_linear(self.transform),
            self.settings.activation,
            norms[1],
            LinearSpec(embedding.weight, self.output_bias),
            (description.describe_linear(encoder.pool), description.describe_linear(self.follows)),
        )


class FineTunedBERT(nn.Module):
    """A BERT encoder with a linear output layer of its own, for fine-tuning (sec. 4).

    Args:
        settings: sizes of the encoder.
        outputs: width of the output layer.
        bias: whether the output layer has a bias.
        pooled: whether the outputs are computed from the pooled [CLS]; otherwise from every token.
    """

    def __init__(self, settings: Settings, outputs: int, *, bias: bool = True, pooled: bool = False) -> None:
        super().__init__()
        self.settings = settings
        self.encoder = BERTEncoder(settings)
        if not pooled:
            self.encoder.pool = nn.Identity()  # type: ignore[assignment]
        self.dropout = Dropout(settings.dropout)
        self.output = nn.Linear(settings.d_model, outputs, bias=bias)
        initialise(self.output, "normal")

    @property
    def limit(self) -> int:
        """Maximum length of the input, special tokens included."""
        return self.settings.max_positions

    def taken_from(self, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the reusable weights of a pretrained model: the encoder, and the output layer if it fits."""
        weights = self.state_dict()
        output = [name for name in weights if name.startswith("output.")]
        fits = all(name in trained and trained[name].shape == weights[name].shape for name in output)
        copied = [name for name in weights if name.startswith("encoder.") and name in trained]
        return {name: trained[name] for name in (*copied, *(output if fits else ()))}


Model = BERT
