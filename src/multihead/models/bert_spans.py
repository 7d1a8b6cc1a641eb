"""BERT that answers questions by spans of a text (Devlin et al. 2019, sec. 4.2 and 4.3, figure 4c).

The input is [CLS] question [SEP] text [SEP]. A start vector S and an end vector E give each token i of the
text the probabilities e^(S T_i) / sum_j e^(S T_j), and likewise with E. No answer is a span at [CLS].
"""

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from multihead.batch import Input, SpanBatch
from multihead.models import bert
from multihead.nn import Loss
from multihead.nn.losses import LossTerm

TASK = "spans"
CLS = 0
"""Position of [CLS]."""


class Settings(bert.Settings):
    """Settings of a BERT for spans; sizes are those of the pretrained BERT."""

    unanswerable: bool = False
    """True if texts may lack the answer; set by the data."""


class BERTSpans(bert.FineTunedBERT):
    """Maps questions with texts to logits of where the answer starts and ends."""

    def __init__(self, settings: Settings) -> None:
        # The output layer's rows are S and E. A bias would change no probability.
        super().__init__(settings, 2, bias=False)

    def forward(self, read: Input) -> tuple[Tensor, Tensor]:
        """Logits of the start and of the end at each position, (B, N) each."""
        start_BN, end_BN = self.output(self.encoder(read)).unbind(-1)
        return start_BN, end_BN

    def loss(self, batch: SpanBatch, step: int) -> Loss:
        """Mean of the cross-entropies of start and end; as a metric, how often both are the most probable."""
        start_BN, end_BN = self(batch.input)
        return span_loss(start_BN, end_BN, batch)


def inside_text(read: Input) -> Tensor:
    """True at the tokens of the text, without its [SEP], (B, N)."""
    columns_N = torch.arange(read.ids_BN.shape[1], device=read.ids_BN.device)
    return (read.segments_BN == 1) & (columns_N < read.lengths_B[:, None] - 1)


def candidates(logits_BN: Tensor, read: Input) -> Tensor:
    """Logits in float32, -inf except at [CLS] and at the tokens of the text, (B, N)."""
    allowed_BN = inside_text(read)
    allowed_BN[:, CLS] = True
    return logits_BN.float().masked_fill(~allowed_BN, -torch.inf)


def span_loss(start_BN: Tensor, end_BN: Tensor, batch: SpanBatch) -> Loss:
    """The loss of logits: cross-entropies over [CLS] and the tokens of the text."""
    total, right = torch.zeros((), device=start_BN.device), []
    for logits_BN, answers_B in ((start_BN, batch.starts_B), (end_BN, batch.ends_B)):
        allowed_BN = candidates(logits_BN, batch.input)
        total = total + nn.functional.cross_entropy(allowed_BN, answers_B, reduction="sum")
        right.append(allowed_BN.detach().argmax(1) == answers_B)
    return {
        "loss": LossTerm(1.0, total / 2, per="windows"),
        "accuracy": LossTerm(0.0, (right[0] & right[1]).sum(), per="windows"),
    }


def best_spans(
    start_BN: Tensor, end_BN: Tensor, read: Input, max_answer: PositiveInt
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best span i <= j of at most ``max_answer`` tokens of each text, by S T_i + E T_j.

    Returns:
        Its score less that of no answer, S C + E C (sec. 4.3), which is its log odds against no answer, (B,);
        -inf for a text without tokens. Its first and its last position, (B,).
    """
    outside_BN = ~inside_text(read)
    start_BN, end_BN = start_BN.float(), end_BN.float()
    most = min(max_answer, start_BN.shape[1])
    ends_BN = nn.functional.pad(end_BN.masked_fill(outside_BN, -torch.inf), (0, most - 1), value=-torch.inf)
    # K ends for each start: time and memory grow with N, not with N^2.
    scores_BNK = start_BN.masked_fill(outside_BN, -torch.inf)[:, :, None] + ends_BN.unfold(1, most, 1)
    best_B, where_B = scores_BNK.flatten(1).max(1)
    odds_B = best_B - (start_BN[:, CLS] + end_BN[:, CLS])
    first_B = where_B // most
    return odds_B, first_B, first_B + where_B % most


Model = BERTSpans
