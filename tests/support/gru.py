"""A recurrent encoder-decoder, to test that nothing depends on the model being a Transformer.

A GRU encoder, a GRU decoder that starts from the encoder's last state, and dot-product attention after the
decoder (Luong et al. 2015, sec. 3.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from multihead.batch import PairBatch, Source
from multihead.nn import DotProductAttention, masks
from multihead.nn.losses import Loss, LossTerm, smoothed_cross_entropy


@dataclass(frozen=True)
class GruState:
    """Encoder outputs, (B, S, d), and the decoder's hidden state of each hypothesis, (R, d)."""

    memory: Tensor
    allowed: Tensor
    hidden: Tensor

    def select(self, rows: Tensor) -> "GruState":
        return GruState(self.memory, self.allowed, self.hidden[rows])

    def keep(self, sentences: Tensor) -> "GruState":
        hidden_BKd = self.hidden.view(len(self.memory), -1, self.hidden.shape[1])
        return GruState(self.memory[sentences], self.allowed[sentences], hidden_BKd[sentences].flatten(0, 1))


class Gru(nn.Module):
    """Maps source and target ids to logits of the next target token."""

    def __init__(self, source_vocab: int, target_vocab: int, d: int = 31) -> None:
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocab, d)
        self.target_embedding = nn.Embedding(target_vocab, d)
        self.encoder = nn.GRU(d, d, batch_first=True)
        self.decoder = nn.GRU(d, d, batch_first=True)
        self.attention = DotProductAttention()
        self.combine = nn.Linear(2 * d, d)
        self.output = nn.Linear(d, target_vocab)

    def forward(self, source: Source, target_BT: Tensor) -> Tensor:
        memory_BSd, allowed, last_Bd = self._read(source)
        hidden_BTd, _ = self.decoder(self.target_embedding(target_BT), last_Bd[None])
        return self._logits(hidden_BTd, memory_BSd, allowed)

    def loss(self, batch: PairBatch, step: int) -> Loss:
        real_BT = masks.padding(batch.target_lengths_B, batch.target_in.shape[1])[:, 0, 0]
        logits_NV = self(batch.source, batch.target_in)[real_BT]
        loss, nll, correct = smoothed_cross_entropy(logits_NV, batch.target_out[real_BT], 0.0)
        return {
            "loss": LossTerm(1.0, loss, per="tokens"),
            "nll": LossTerm(0.0, nll, per="tokens"),
            "accuracy": LossTerm(0.0, correct, per="tokens"),
        }

    def score(self, batch: PairBatch) -> Tensor:
        log_p_BTV = self(batch.source, batch.target_in).log_softmax(2)
        log_p_BT = log_p_BTV.gather(2, batch.target_out[..., None])[..., 0]
        real_BT = masks.padding(batch.target_lengths_B, batch.target_in.shape[1])[:, 0, 0]
        return torch.where(real_BT, log_p_BT, 0.0)

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> GruState:
        memory_BSd, allowed, last_Bd = self._read(source)
        hidden_Bd = last_Bd.clone()
        for b, prefix in enumerate(prefixes):
            if prefix[:-1]:
                ids_1T = torch.tensor([prefix[:-1]], device=last_Bd.device)
                _, final_11d = self.decoder(self.target_embedding(ids_1T), last_Bd[None, b : b + 1])
                hidden_Bd[b] = final_11d[0, 0]
        return GruState(memory_BSd, allowed, hidden_Bd)

    def step(self, tokens_R: Tensor, state: GruState) -> tuple[Tensor, GruState]:
        _, hidden_1Rd = self.decoder(self.target_embedding(tokens_R[:, None]), state.hidden[None])
        sentences = len(state.memory)
        hidden_BKd = hidden_1Rd[0].view(sentences, -1, hidden_1Rd.shape[2])
        logits_BKV = self._logits(hidden_BKd, state.memory, state.allowed)
        return logits_BKV.flatten(0, 1), GruState(state.memory, state.allowed, hidden_1Rd[0])

    def _read(self, source: Source) -> tuple[Tensor, Tensor, Tensor]:
        memory_BSd, _ = self.encoder(self.source_embedding(source.ids_BS))
        allowed = masks.padding(source.lengths_B, source.ids_BS.shape[1])
        sentences_B = torch.arange(len(memory_BSd), device=memory_BSd.device)
        return memory_BSd, allowed, memory_BSd[sentences_B, source.lengths_B - 1]

    def _logits(self, hidden_BTd: Tensor, memory_BSd: Tensor, allowed: Tensor) -> Tensor:
        memory_B1Sd = memory_BSd[:, None]
        context_BTd = self.attention(hidden_BTd[:, None], memory_B1Sd, memory_B1Sd, allowed)[:, 0]
        combined_BTd = self.combine(torch.cat([hidden_BTd, context_BTd], dim=2)).tanh()
        logits_BTV: Tensor = self.output(combined_BTd)
        return logits_BTV
