"""What the recurrent models share: their cell, and training on their own words now and then."""

from typing import Literal

from pydantic import Field, NonNegativeInt
from torch import Tensor

from multihead.batch import PairBatch
from multihead.models._stepwise import Stepwise
from multihead.models._vocabularies import Vocabularies
from multihead.nn.scheduled_sampling import sampled_unroll, true_token_probability


class RecurrentSettings(Vocabularies):
    """Settings of a recurrent model."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Kind of recurrent layer: LSTM (Hochreiter and Schmidhuber 1997) or GRU (Cho et al. 2014)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of embeddings, between layers and before the output layer (Zaremba et al. 2014)."""
    teacher_forcing: float = Field(1.0, ge=0, le=1)
    """Chance that the decoder reads the right word in training, not its own guess (Bengio et al. 2015)."""
    teacher_forcing_steps: NonNegativeInt = 0
    """Updates in which that chance falls from 1, linearly; 0: it is the same all the time."""


class Recurrent(Stepwise):
    """A recurrent model from text to text."""

    settings: RecurrentSettings

    def hidden_in_training(self, batch: PairBatch, step: int) -> Tensor:
        """Teacher forcing, or scheduled sampling, (B, T - 1, d); validation is always teacher-forced."""
        s = self.settings
        chance = true_token_probability(step, s.teacher_forcing, s.teacher_forcing_steps)
        if not self.training or chance == 1:
            return self.hidden(batch.source, batch.target_in)
        state = self.encode(batch.source)
        return sampled_unroll(self.read, self.output.logits, batch.target_in, state, chance)
