"""JSON export of an inspection: weights as numbers, for further computation."""

import json
from collections.abc import Sequence

import numpy as np

from multihead.inspect.maps import AttentionRecord, Sentence
from multihead.inspect.page.packing import Json


def as_json(listed: Json) -> str:
    """Return an object as one line of JSON."""
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) + "\n"


def tokens_as_json(sentence: Sentence) -> Json:
    """Return subwords, words, and the word number of each subword."""
    return {
        "pieces": [token.text for token in sentence.pieces],
        "words": [token.text for token in sentence.words],
        "word_of_piece": [token.word for token in sentence.pieces],
    }


def attention_as_json(records: Sequence[AttentionRecord]) -> list[Json]:
    """Return recorded weights as nested lists, [head][query][key]."""
    return [
        {
            "kind": record.kind,
            "layer": record.layer,
            "module": record.module,
            "weights": np.round(record.sentence(0).astype(np.float64), 6).tolist(),
        }
        for record in records
    ]
