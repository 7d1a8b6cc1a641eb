"""How likely given translations are: one parallel pass over each pair, no search."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from multihead.batch import PairBatch
from multihead.data.batches import PairList, sequential_batches
from multihead.text.tokenizer import Tokenizer

Ids = Sequence[int]


@torch.inference_mode()
def token_log_probabilities(
    models: Sequence[nn.Module],
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    tokenizer: Tokenizer,
    *,
    batch_tokens: int,
    device: torch.device,
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Yield (number of a pair, log-probability of each target token and the end), not in order.

    Several models: of the mean of their probabilities, as an ensemble gives it.
    """
    if not sources:
        return
    for indices, batch in sequential_batches(
        PairList(sources, targets),
        batch_tokens=batch_tokens,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
    ):
        rows = _mean(models, batch.to(device)).tolist()
        for number, row, length in zip(indices.tolist(), rows, batch.target_lengths_B.tolist(), strict=True):
            yield number, tuple(row[:length])


def _mean(models: Sequence[nn.Module], batch: PairBatch) -> Tensor:
    """Log-probabilities under the mean of the models' probabilities, (B, T - 1)."""
    scores = [cast(Callable[[PairBatch], Tensor], model.score) for model in models]
    log_p_MBT = torch.stack([score(batch).float() for score in scores])
    mean_BT: Tensor = log_p_MBT.logsumexp(0) - math.log(len(models))
    return mean_BT
