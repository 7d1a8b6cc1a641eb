"""Log-probabilities of given translations, by teacher forcing."""

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
    """Yield (index of a pair, log-probabilities of its target tokens and end symbol), in batch order.

    With several models, the probabilities are averaged as in an ensemble.
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
        for index, row, length in zip(indices.tolist(), rows, batch.target_lengths_B.tolist(), strict=True):
            yield index, tuple(row[:length])


def _mean(models: Sequence[nn.Module], batch: PairBatch) -> Tensor:
    """Return the logarithm of the models' mean probabilities, (B, T - 1)."""
    scores = [cast(Callable[[PairBatch], Tensor], model.score) for model in models]
    log_p_MBT = torch.stack([score(batch).float() for score in scores])
    mean_BT: Tensor = log_p_MBT.logsumexp(0) - math.log(len(models))
    return mean_BT
