"""Lines of similar length, searched together."""

from collections.abc import Sequence

import torch

from multihead.batch import Source


def by_length(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Cut the numbers 0 to N - 1 into batches by the lengths of what they number, longest first.

    Each batch fills at most ``budget`` places, padding included; a longer line is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches: list[list[int]] = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= budget:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def to_source(sentences: Sequence[Sequence[int]], *, pad_id: int, eos_id: int) -> Source:
    """Sentences as tensors, each with the end symbol after it."""
    lengths = [len(ids) + 1 for ids in sentences]
    width = max(lengths)
    rows = [[*ids, eos_id] + [pad_id] * (width - 1 - len(ids)) for ids in sentences]
    return Source(torch.tensor(rows), torch.tensor(lengths))
