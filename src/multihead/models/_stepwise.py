"""Base class of models whose decoder carries a state from token to token (``nn.row_state``)."""

from collections.abc import Sequence

from torch import Tensor, nn

from multihead.batch import PairBatch, Source
from multihead.models._vocabularies import Vocabularies
from multihead.nn import TokenEmbedding
from multihead.nn.losses import Loss
from multihead.nn.parts.row_state import RowState, read_prefixes
from multihead.nn.teacher_forcing import next_token_loss, target_log_probabilities


class Stepwise(nn.Module):
    """A text-to-text model. A subclass defines ``encode``, ``read`` and ``hidden``; the rest follows."""

    settings: Vocabularies
    output: TokenEmbedding

    def encode(self, source: Source) -> RowState:
        """Read the source; return the decoder's initial state, one row per sentence."""
        raise NotImplementedError

    def read(self, tokens_R: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """Read a token per row; return the output layer's input, (R, d), and the new state."""
        raise NotImplementedError

    def hidden(self, source: Source, target_BT: Tensor) -> Tensor:
        """The output layer's input at every position of given targets, (B, T, d)."""
        raise NotImplementedError

    def forward(self, source: Source, target_BT: Tensor) -> Tensor:
        """Logits of the token after each target token, (B, T, V).

        Args:
            source: B sentences.
            target_BT: target ids beginning with the begin symbol, padded on the right. No position depends on
                later ones, so the padding needs no mask.
        """
        return self.output.logits(self.hidden(source, target_BT))

    # --- training and scoring -------------------------------------------------------------------

    def loss(self, batch: PairBatch, step: int) -> Loss:
        """Smoothed cross-entropy per target token; negative log-likelihood and accuracy as metrics."""
        hidden_BTd = self.hidden_in_training(batch, step)
        return next_token_loss(hidden_BTd, self.output.weight, batch, self.settings.label_smoothing)

    def hidden_in_training(self, batch: PairBatch, step: int) -> Tensor:
        """The output layer's input for a step's loss, (B, T - 1, d), by teacher forcing."""
        return self.hidden(batch.source, batch.target_in)

    def score(self, batch: PairBatch) -> Tensor:
        """Log-probability of each target token, (B, T - 1); 0 at padding."""
        return target_log_probabilities(self(batch.source, batch.target_in), batch)

    # --- search ---------------------------------------------------------------------------------

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> RowState:
        """Read the source and all of each prefix but its last token (``search.Stepper``)."""
        return read_prefixes(
            lambda tokens_R, state: self.read(tokens_R, state)[1], self.encode(source), prefixes
        )

    def step(self, tokens_R: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """Append a token to every hypothesis; return the next one's logits, (R, V) (``search.Stepper``)."""
        hidden_Rd, state = self.read(tokens_R, state)
        return self.output.logits(hidden_Rd), state
