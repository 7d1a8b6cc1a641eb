"""GPT: a Transformer decoder without an encoder (Radford et al. 2018, 2019; Brown et al. 2020).

Pre-norm, GELU, learned positions, tied embeddings and output layer. Without positions it is the model of Irie
et al. 2019: a causal model can infer positions from its mask.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import Source, TextBatch
from multihead.models._attention import CausalAttentionSettings, feed_forward, is_reversible, self_attention
from multihead.models._checks import check_heads
from multihead.nn import LearnedPositions, Loss, PreNorm, TokenEmbedding, masks
from multihead.nn.decoding import DecoderState, left_padded
from multihead.nn.description import CausalSpec, EmbeddingSpec, LinearSpec, PositionsSpec, StackSpec, describe
from multihead.nn.initialisation import initialise
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.losses import LossTerm
from multihead.nn.modules import Dropout
from multihead.nn.parts.causal import CausalStack
from multihead.nn.parts.reversible import ReversibleStack
from multihead.nn.parts.uncompiled import exclude_from_compilation
from multihead.nn.positions import NoPositions

TASK = "language"
STD = 0.02
"""Initial standard deviation of all matrices (Radford et al. 2018, sec. 4.1)."""


class Settings(CausalAttentionSettings):
    """Settings of a GPT; the defaults are the smallest GPT-2 (Radford et al. 2019, Table 2)."""

    vocab_size: PositiveInt = 50_257
    """Size of the vocabulary; set by the tokenizer."""
    context: PositiveInt = 1024
    """Context length in tokens, n_ctx in the papers."""
    d_model: PositiveInt = 768
    """Width of embeddings and of the residual stream."""
    num_layers: PositiveInt = 12
    """Number of layers."""
    num_heads: PositiveInt = 12
    """Number of attention heads."""
    d_k: NonNegativeInt = 0
    """Width of a head; 0: d_model / num_heads."""
    d_ff: NonNegativeInt = 0
    """Inner width of the feed-forward networks; 0: 4 d_model."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of every sublayer's output and of embeddings plus positions."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of attention weights."""
    positions: Literal["learned", "none"] = "learned"
    """Learned positions, or none (Irie et al. 2019); without positions, texts may exceed the context."""
    activation: Literal["gelu_tanh", "gelu", "relu"] = "gelu_tanh"
    """Activation of the feed-forward networks; the published models use the tanh approximation of GELU."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        check_heads(self.d_model, self.num_heads, self.d_k)
        return self


class GPT(nn.Module):
    """Maps token ids to logits of the next token."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        stack = ReversibleStack if is_reversible(s) else CausalStack
        self.stack = stack(
            s.num_layers,
            s.d_model,
            attention=self_attention(
                s,
                s.d_model,
                s.num_heads,
                d_k=s.d_k or None,
                dropout=s.attention_dropout,
                length=s.context,
                causal=True,
            ),
            feed_forward=feed_forward(s, s.d_model, s.d_ff or 4 * s.d_model, s.activation),
            residual=PreNorm,
            dropout=s.dropout,
        )
        initialise(self, "normal")
        with torch.no_grad():
            # N sublayers add to the residual stream, so each is scaled by 1 / sqrt(N) (GPT-2, sec. 2.3).
            for name, weight in self.stack.named_parameters():
                if name.endswith(("w_o.weight", "w_2.weight")):
                    weight.mul_((2 * s.num_layers) ** -0.5)
        self.embedding = TokenEmbedding(s.vocab_size, s.d_model, size=s.d_model**-0.5)
        nn.init.normal_(self.embedding.weight, std=STD)
        self.positions = LearnedPositions(s.context, s.d_model) if s.positions == "learned" else NoPositions()
        self.dropout = Dropout(s.dropout)

    @property
    def output(self) -> TokenEmbedding:
        """The output layer, tied to the embedding."""
        return self.embedding

    @property
    def context(self) -> int:
        """Context length in tokens."""
        return self.settings.context

    @property
    def capturable(self) -> bool:
        """True if the loss is a fixed sequence of kernels for each batch shape (``training.cuda_graphs``)."""
        return not self._keeps_order

    @property
    def slides(self) -> bool:
        """True if a text may exceed the context: each token then attends to the last ``context`` tokens."""
        return self.settings.positions == "none" and self.settings.attention in ("full", "window")

    @property
    def _keeps_order(self) -> bool:
        """True if the layers' attention is causal without a mask."""
        return self.settings.attention != "full"

    def _mask(self, length: int, device: torch.device) -> Tensor | None:
        if self._keeps_order:
            return None
        if length <= self.context:
            return masks.causal(length, device)
        return masks.causal_window(length, self.context - 1, device)

    def forward(self, ids_BT: Tensor) -> Tensor:
        """Logits of the token after each token, (B, T, V); T is at most the context, unless it slides."""
        return self.output.logits(self.hidden(ids_BT))

    def hidden(self, ids_BT: Tensor) -> Tensor:
        """The output layer's input, (B, T, d_model)."""
        allowed = self._mask(ids_BT.shape[1], ids_BT.device)
        x_BTd = self.dropout(self.positions(self.embedding(ids_BT)))
        hidden_BTd: Tensor = self.stack(x_BTd, allowed)
        return hidden_BTd

    def loss(self, batch: TextBatch, step: int) -> Loss:
        """Negative log-likelihood per token; accuracy as a metric."""
        hidden_Nd = self.hidden(batch.text_in).flatten(0, 1)
        loss, correct = _sums(hidden_Nd, self.output.weight, batch.text_out.flatten())
        return {"loss": LossTerm(1.0, loss, per="tokens"), "accuracy": LossTerm(0.0, correct, per="tokens")}

    def describe(self) -> CausalSpec:
        """The description that engines and exports read."""
        embedding = describe(self.embedding, EmbeddingSpec)
        return CausalSpec(
            embedding,
            describe(self.positions, PositionsSpec),
            describe(self.stack, StackSpec),
            LinearSpec(embedding.weight, None),
            self.context,
        )

    # --- search -----------------------------------------------------------------------------------

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> DecoderState:
        """Read all of each prefix but its last token (``search.Stepper``); the source is ignored."""
        ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
        nothing = source.ids_BS.new_zeros((len(prefixes), 1, 1, 0), dtype=torch.bool)
        state = DecoderState(
            self.stack.begin(len(prefixes)), nothing, shift_B, reach=self._reach, ordered=self._keeps_order
        )
        if ids_BQ.shape[1]:
            self._advance(ids_BQ, state)
        return state

    def step(self, tokens_R: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Append a token to every row; return the next one's logits, (R, V) (``search.Stepper``)."""
        state = state.trim()
        hidden_R1d = self._advance(tokens_R[:, None], state)
        return self.output.logits(hidden_R1d[:, 0]), state

    @property
    def _reach(self) -> int | None:
        """Positions back that a step attends to at most; None: all."""
        s = self.settings
        if s.attention == "window":
            return (s.window - 1) * s.dilation
        return self.context - 1 if self.slides else None

    def _advance(self, ids_RQ: Tensor, state: DecoderState) -> Tensor:
        shift_R, allowed = state.shift_and_mask(ids_RQ)
        x_RQd = self.positions(self.embedding(ids_RQ), state.position, shift_R)
        return self.stack.step(x_RQd, state.caches, allowed)


# Not compiled: the kernel is fused already.
@exclude_from_compilation
def _sums(hidden_Nd: Tensor, weight_Vd: Tensor, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """The negative log-likelihood and the correct top-1 predictions, summed."""
    loss, _, correct = linear_cross_entropy(hidden_Nd, weight_Vd, targets_N, 0.0)
    return loss, correct


Model = GPT
