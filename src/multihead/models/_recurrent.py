"""Settings of recurrent models, and their training by teacher forcing or scheduled sampling."""

from typing import Literal

from pydantic import Field, NonNegativeInt
from torch import Tensor

from multihead.batch import PairBatch
from multihead.models._stepwise import Stepwise
from multihead.models._vocabularies import Vocabularies
from multihead.nn.parts.scheduled_sampling import sampled_unroll, true_token_probability


class RecurrentSettings(Vocabularies):
    """Settings of a recurrent model."""

    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    """Kind of recurrent layer: LSTM (Hochreiter and Schmidhuber 1997), GRU (Cho et al. 2014), or the vanilla
    RNN (rnn, Elman 1990)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of embeddings, between layers and before the output layer (Zaremba et al. 2014)."""
    teacher_forcing: float = Field(1.0, ge=0, le=1)
    """Probability that the decoder reads the true token in training, else its own prediction (Bengio et al.
    2015)."""
    teacher_forcing_steps: NonNegativeInt = 0
    """Updates over which teacher_forcing decays linearly from 1 to its value; 0: it is constant."""


class Recurrent(Stepwise):
    """A recurrent text-to-text model."""

    settings: RecurrentSettings

    def hidden_in_training(self, batch: PairBatch, step: int) -> Tensor:
        """See ``Stepwise``; with scheduled sampling in training, and teacher forcing in validation."""
        s = self.settings
        epsilon = true_token_probability(step, s.teacher_forcing, s.teacher_forcing_steps)
        if not self.training or epsilon == 1:
            return self.hidden(batch.source, batch.target_in)
        state = self.encode(batch.source)
        return sampled_unroll(self.read, self.output.logits, batch.target_in, state, epsilon)
