"""The log-normaliser and the top-k of rows of scores."""

import math

import torch
from torch import Tensor

from multihead.search.plain import not_finite
from multihead.system import native

BLOCK = 2**18
CHUNK = 64
MOST = 64
"""Largest k of the native top-k, which inserts entries one by one (``native/distribution.h``)."""


def log_normaliser(logits_RV: Tensor, step: int) -> Tensor:
    """``log sum exp`` of every row, (R,): ``logits - normaliser`` are the model's log-probabilities.

    Raises:
        UserError: a row is not a distribution: it has NaN or +infinity, or only -infinity.
    """
    if _native(logits_RV):
        normaliser_R = logits_RV.new_empty(len(logits_RV))
        native.call("log_normaliser", torch.float32, logits_RV, normaliser_R, *logits_RV.shape)
    else:
        normaliser_R = _log_normaliser(logits_RV)
    # The sum is finite if and only if every normaliser is.
    if not math.isfinite(normaliser_R.sum().item()):
        raise not_finite(step)
    return normaliser_R


def _log_normaliser(logits_RV: Tensor) -> Tensor:
    # A fresh output as large as the logits costs more in page faults than in arithmetic, so rows are
    # processed in blocks that fit in the cache. log_softmax is torch's fastest way to the sum.
    rows = max(1, BLOCK // logits_RV.shape[1]) if logits_RV.device.type == "cpu" else len(logits_RV)
    normaliser_R = logits_RV.amax(1)
    normaliser_R -= torch.cat([block.log_softmax(1).amax(1) for block in torch.split(logits_RV, rows)])
    return normaliser_R


def largest(logits_RV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The top-k of every row: values, descending, and columns, both (R, min(k, V)).

    A row's top-k lies in the k chunks of columns with the largest maxima, and finding the maxima is several
    times faster than ``topk`` over a vocabulary. The order of ties depends on their row alone.
    """
    rows, vocabulary = logits_RV.shape
    if 0 < k <= MOST and _native(logits_RV):
        k = min(k, vocabulary)
        values_RK = logits_RV.new_empty(rows, k)
        columns_RK = torch.empty(rows, k, dtype=torch.long)
        native.call("top", torch.float32, logits_RV, values_RK, columns_RK, rows, vocabulary, k)
        return values_RK, columns_RK
    chunks = vocabulary // CHUNK
    if chunks <= k:
        top = logits_RV.topk(min(k, vocabulary), dim=1)
        return top.values, top.indices
    maxima_RC = logits_RV[:, : chunks * CHUNK].view(rows, chunks, CHUNK).amax(2)
    chunks_RK = maxima_RC.topk(k, dim=1).indices
    columns_RX = (chunks_RK[..., None] * CHUNK + torch.arange(CHUNK, device=logits_RV.device)).flatten(1)
    if rest := vocabulary % CHUNK:
        tail = torch.arange(vocabulary - rest, vocabulary, device=logits_RV.device)
        columns_RX = torch.cat([columns_RX, tail.expand(rows, rest)], dim=1)
    values_RK, places_RK = logits_RV.gather(1, columns_RX).topk(k, dim=1)
    return values_RK, columns_RX.gather(1, places_RK)


def _native(logits_RV: Tensor) -> bool:
    return (
        native.ON
        and native.suits(logits_RV)
        and logits_RV.dtype == torch.float32
        and logits_RV.is_contiguous()
    )
