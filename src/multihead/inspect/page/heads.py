"""Page data of recorded attention: packed weights and statistics of every head."""

import numpy as np
from numpy.typing import NDArray

from multihead.inspect import figures
from multihead.inspect.maps import AttentionRecord, Sentence
from multihead.inspect.maps.patterns import entropy, pattern
from multihead.inspect.maps.tokens import TokenLabel
from multihead.inspect.page import packing
from multihead.inspect.page.packing import Floats, Json


def tokens(sentence: Sentence, limit: int) -> Json:
    """Return a sequence as page data: subwords with their word numbers, and the words."""
    pieces = sentence.pieces[:limit]
    words = sentence.words[: pieces[-1].word + 1] if pieces else ()
    return {"pieces": [_token(token) for token in pieces], "words": [_token(token) for token in words]}


def _token(token: TokenLabel) -> Json:
    return {"text": figures.visible(token.text, 60), "word": token.word, "special": token.special}


def layer(
    record: AttentionRecord, special_K: NDArray[np.bool_], limit: int, distances_QK: Floats | None = None
) -> Json:
    """Return the heads of one attention module as page data.

    Args:
        record: attention of one sentence.
        special_K: True = the key is a special symbol.
        limit: number of queries and keys to embed; later ones are omitted.
        distances_QK: distance between query and key; None: the difference of their positions.
    """
    weights_HQK = record.sentence(0)
    distances_QK = _distances(record) if distances_QK is None else distances_QK
    return {
        "kind": record.kind,
        "layer": record.layer,
        "heads": record.num_heads,
        "queries": min(weights_HQK.shape[1], limit),
        "keys": min(weights_HQK.shape[2], limit),
        "allowed": _mask_data(record, limit),
        "weights": packing.weights(weights_HQK[:, :limit, :limit]),
        "measures": [_statistics(head, record, special_K, distances_QK) for head in weights_HQK],
    }


def size(record: AttentionRecord, limit: int) -> int:
    """Return the size of a module's heads on the page, in bytes."""
    queries, keys = int(record.query_lengths_B[0]), int(record.key_lengths_B[0])
    return record.num_heads * min(queries, limit) * min(keys, limit) * 4 // 3


def _mask_data(record: AttentionRecord, limit: int) -> str | None:
    """Return the mask as page data: None if nothing is masked, "causal", or a byte per query and key."""
    if record.allowed_BHQK is None:
        return None
    _, queries, keys = record.sentence(0).shape
    allowed_QK = record.allowed_BHQK[0, 0, :queries, :keys]
    if allowed_QK.all():
        return None
    if queries == keys and np.array_equal(allowed_QK, np.tri(queries, dtype=np.bool_)):
        return "causal"
    return packing.base64_text(allowed_QK[:limit, :limit].astype(np.uint8))


def _distances(record: AttentionRecord) -> Floats:
    """Return distances in tokens: from the query's position, or in cross-attention from the diagonal."""
    _, Q, K = record.sentence(0).shape
    diagonal_Q = np.arange(Q) * ((K - 1) / max(Q - 1, 1) if record.kind == "cross" else 1.0)
    distances_QK: Floats = np.abs(diagonal_Q[:, None] - np.arange(K)).astype(np.float32)
    return distances_QK


def _statistics(
    head_QK: Floats, record: AttentionRecord, special_K: NDArray[np.bool_], distances_QK: Floats
) -> Json:
    """Return entropy in bits and attention distance, means over the queries, and the dominant pattern."""
    # Row i of the decoder is the query at input token i.
    name, share = pattern(head_QK.astype(np.float64), special_K, same_sequence=record.kind != "cross")
    return {
        "entropy": packing.round_number(entropy(head_QK), 2),
        "distance": packing.round_number(np.sum(head_QK * distances_QK, axis=1, dtype=np.float64).mean(), 2),
        "pattern": name,
        "share": packing.round_number(share, 2),
    }
