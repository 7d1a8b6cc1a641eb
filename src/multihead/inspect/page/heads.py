"""All heads of a recording, packed, with the numbers that tell the interesting ones apart."""

import numpy as np
from numpy.typing import NDArray

from multihead.attention_maps import AttentionRecord, Sentence
from multihead.attention_maps.patterns import entropy, pattern
from multihead.attention_maps.tokens import Token
from multihead.inspect import pictures
from multihead.inspect.page import packing
from multihead.inspect.page.packing import Floats, Json


def sides(sentence: Sentence, most: int) -> Json:
    """Return tokens as the page reads them: pieces with their words' numbers, and the words."""
    pieces = sentence.pieces[:most]
    words = sentence.words[: pieces[-1].word + 1] if pieces else ()
    return {"pieces": [_token(token) for token in pieces], "words": [_token(token) for token in words]}


def _token(token: Token) -> Json:
    return {"text": pictures.visible(token.text, 60), "word": token.word, "special": token.special}


def layer(
    record: AttentionRecord, special_K: NDArray[np.bool_], most: int, apart_QK: Floats | None = None
) -> Json:
    """Return one attention module's heads.

    Args:
        record: of a batch of one sentence.
        special_K: which of the tokens that are looked at are special symbols.
        most: queries and keys to embed; those after them are left out.
        apart_QK: how far each query is from each key; None: as many tokens as lie between them.
    """
    whole = record.sentence(0)
    apart_QK = _apart(record) if apart_QK is None else apart_QK
    return {
        "kind": record.kind,
        "layer": record.layer,
        "heads": record.num_heads,
        "queries": min(whole.shape[1], most),
        "keys": min(whole.shape[2], most),
        "allowed": _allowed(record, most),
        "weights": packing.weights(whole[:, :most, :most]),
        "measures": [_measures(head, record, special_K, apart_QK) for head in whole],
    }


def size(record: AttentionRecord, most: int) -> int:
    """How many bytes a module's heads take in the page."""
    queries, keys = int(record.query_lengths_B[0]), int(record.key_lengths_B[0])
    return record.num_heads * min(queries, most) * min(keys, most) * 4 // 3


def _allowed(record: AttentionRecord, most: int) -> str | None:
    """Return which keys each query may look at: None is all, "causal" all up to itself, else a byte each."""
    if record.allowed_BHQK is None:
        return None
    _, queries, keys = record.sentence(0).shape
    allowed_QK = record.allowed_BHQK[0, 0, :queries, :keys]
    if allowed_QK.all():
        return None
    if queries == keys and np.array_equal(allowed_QK, np.tri(queries, dtype=np.bool_)):
        return "causal"
    return packing.text(allowed_QK[:most, :most].astype(np.uint8))


def _apart(record: AttentionRecord) -> Floats:
    """Tokens between query and key; of cross-attention from the line that joins both sentences' ends."""
    _, Q, K = record.sentence(0).shape
    line_Q = np.arange(Q) * ((K - 1) / max(Q - 1, 1) if record.kind == "cross" else 1.0)
    apart_QK: Floats = np.abs(line_Q[:, None] - np.arange(K)).astype(np.float32)
    return apart_QK


def _measures(
    head_QK: Floats, record: AttentionRecord, special_K: NDArray[np.bool_], apart_QK: Floats
) -> Json:
    """Return what one head does, as means over its queries.

    Entropy in bits; the distance between a query and what it looks at; and the pattern that takes most of
    the weight.
    """
    # Row i of the decoder is the query at the token read at place i.
    name, share = pattern(head_QK.astype(np.float64), special_K, same_sequence=record.kind != "cross")
    return {
        "entropy": packing.rounded(entropy(head_QK), 2),
        "distance": packing.rounded(np.sum(head_QK * apart_QK, axis=1, dtype=np.float64).mean(), 2),
        "pattern": name,
        "share": packing.rounded(share, 2),
    }
