"""Inputs of softmax(q k^T / sqrt(d_k)) v for one head, for the page's step-by-step view."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from multihead.inspect.maps import AttentionRecord
from multihead.inspect.page import packing
from multihead.inspect.page.packing import Floats, Json

TOLERANCE = 1e-4
"""Largest deviation of a recomputed weight from the recorded one."""
MAX_BYTES = 1_000_000
"""Size limit for the inputs of all heads together."""

Head = tuple[AttentionRecord, int]
"""A head of a module, from 0."""


def equations(records: Sequence[AttentionRecord], first: Head, limit: int, *, full: bool) -> Json:
    """Return the inputs of as many heads as fit on the page, as page data.

    Args:
        records: attention of one sentence.
        first: the first head, which is always embedded; then the other heads of its module, the modules of
            its kind, and the rest.
        limit: number of queries and keys to embed.
        full: embed all heads, regardless of their size.
    """
    numbers: list[Json] = []
    room, left_out = MAX_BYTES, 0
    for record, head in _in_order(records, first):
        entry = head_inputs(record, head, limit)
        if entry is None:
            continue
        room -= sum(len(entry[name]) for name in "qkv")
        if full or room >= 0 or not numbers:
            numbers.append(entry)
        else:
            left_out += 1
    return {"numbers": numbers, "numbers_left_out": left_out}


def _in_order(records: Sequence[AttentionRecord], first: Head) -> Iterator[Head]:
    module, first_head = first
    nearest = sorted(records, key=lambda record: (record is not module, record.kind != module.kind))
    heads = ((record, head) for record in nearest for head in range(record.num_heads))
    return chain(
        [first], ((record, head) for record, head in heads if record is not module or head != first_head)
    )


def head_inputs(record: AttentionRecord, head: int, limit: int) -> Json | None:
    """Return q, k, v and the scale of one head, or None if its weights are not softmax(q k^T scale).

    The recorded weights must agree with a scale of 1 / sqrt(d_k) (Vaswani et al. 2017, eq. 1) or 1 (Luong
    et al. 2015, sec. 3.1). Other score functions have no step-by-step view.

    Args:
        record: attention of one sentence, with queries, keys and values.
        head: head, from 0.
        limit: number of queries and keys to embed.
    """
    if record.q_BHQd is None or record.k_BHKd is None or record.v_BHKd is None:
        return None
    weights_QK = record.sentence(0)[head]
    Q, K = weights_QK.shape
    q_Qd, k_Kd = _of_head(record.q_BHQd, head)[:Q], _of_head(record.k_BHKd, head)[:K]
    v_Kd = _of_head(record.v_BHKd, head)[:K]
    scale = _scale(record, head, q_Qd, k_Kd, weights_QK)
    if scale is None:
        return None
    return {
        "kind": record.kind,
        "layer": record.layer,
        "head": head + 1,
        "d_k": q_Qd.shape[1],
        "d_v": v_Kd.shape[1],
        "scale": scale,
        "q": packing.floats(q_Qd[:limit]),
        "k": packing.floats(k_Kd[:limit]),
        "v": packing.floats(v_Kd[:limit]),
    }


def _of_head(x_BHNd: Floats, head: int) -> Floats:
    """Return the vectors of one head; keys and values may be shared by all heads."""
    x_Nd: Floats = x_BHNd[0, min(head, x_BHNd.shape[1] - 1)]
    return x_Nd


def _scale(
    record: AttentionRecord, head: int, q_Qd: Floats, k_Kd: Floats, weights_QK: Floats
) -> float | None:
    if q_Qd.shape[1] != k_Kd.shape[1]:
        return None
    Q, K = weights_QK.shape
    for scale in (1 / math.sqrt(q_Qd.shape[1]), 1.0):
        scores_QK = (q_Qd @ k_Kd.T).astype(np.float64) * scale
        if record.allowed_BHQK is not None:
            allowed_HQK = record.allowed_BHQK[0, :, :Q, :K]
            scores_QK[~allowed_HQK[min(head, len(allowed_HQK) - 1)]] = -np.inf
        exponent_QK = np.exp(scores_QK - scores_QK.max(axis=1, keepdims=True))
        weights = exponent_QK / exponent_QK.sum(axis=1, keepdims=True)
        if np.abs(weights - weights_QK).max() < TOLERANCE:
            return scale
    return None
