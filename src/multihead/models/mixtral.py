"""Mixtral: a Llama with mixtures of experts in the place of feed-forward networks (Jiang et al. 2024)."""

from pydantic import Field, PositiveInt, model_validator
from torch import nn

from multihead.batch import TextBatch
from multihead.models import llama
from multihead.models.llama import Llama
from multihead.nn import Loss
from multihead.nn.losses import LossTerm
from multihead.nn.parts.mixture_of_experts import MixtureOfExperts, balances

TASK = "language"


class Settings(llama.Settings):
    """Settings of a Mixtral; beside Llama's, the experts'. ``d_ff`` is the inner width of one expert."""

    experts: PositiveInt = 8
    """Number of experts of a layer (Shazeer et al. 2017)."""
    experts_per_token: PositiveInt = 2
    """Experts that each token is computed by; the others cost it nothing."""
    balance: float = Field(0.01, ge=0)
    """Weight of the loss that keeps experts equally used (Fedus et al. 2022, eq. 4: 0.01)."""

    @model_validator(mode="after")
    def _enough(self) -> "Settings":
        if self.experts_per_token > self.experts:
            raise ValueError(f"experts_per_token {self.experts_per_token} exceeds experts {self.experts}")
        return self


class Mixtral(Llama):
    """Maps token ids to logits of the next token; training and search are GPT's."""

    settings: Settings

    @property
    def capturable(self) -> bool:
        """False: how many tokens an expert gets changes from batch to batch."""
        return False

    def network(self) -> nn.Module:
        """A mixture of experts, each of them a feed-forward network of a Llama."""
        s = self.settings
        return MixtureOfExperts(s.d_model, s.experts, chosen=s.experts_per_token, expert=super().network)

    def loss(self, batch: TextBatch, step: int) -> Loss:
        """As GPT's, with the balance loss of Fedus et al. 2022, the mean over the layers."""
        loss = super().loss(batch, step)
        balance = balances(self) * batch.text_out.numel()
        return {**loss, "balance": LossTerm(self.settings.balance, balance, per="tokens")}


Model = Mixtral
