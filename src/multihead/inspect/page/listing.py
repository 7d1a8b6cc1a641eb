"""All numbers of an exploration as JSON to compute with: weights as numbers, not packed."""

import json
from collections.abc import Sequence

import numpy as np

from multihead.attention_maps import AttentionRecord, Sentence
from multihead.inspect.page.exploring import Exploration
from multihead.inspect.page.packing import Json


def numbers_as_json(exploration: Exploration) -> str:
    """Return the recorded weights of every hypothesis that the page shows, and the search, as JSON.

    Weights stand as [head][query][key] with six digits after the point.
    """
    content = exploration.content
    listed = {
        "run": content["run"],
        "caution": content["caution"],
        "source": {"text": content["sentence"], **sides_listed(exploration.recordings[0].source)},
        "hypotheses": [
            {
                "text": shown["text"],
                "score": shown["score"],
                "log_probability": shown["sum"],
                "read": sides_listed(recording.read),
                "target": sides_listed(recording.target),
                "attention": attention(recording.records),
            }
            # Those after the last recording are in the search alone.
            for shown, recording in zip(content["hypotheses"], exploration.recordings, strict=False)
        ],
        "search": content["tree"],
        "neighbours": content["neighbours"],
    }
    return as_json(listed)


def as_json(listed: Json) -> str:
    """Return numbers as a line of JSON."""
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) + "\n"


def sides_listed(sentence: Sentence) -> Json:
    """Return tokens as texts: pieces, words, and which word each piece belongs to."""
    return {
        "pieces": [token.text for token in sentence.pieces],
        "words": [token.text for token in sentence.words],
        "word_of_piece": [token.word for token in sentence.pieces],
    }


def attention(records: Sequence[AttentionRecord]) -> list[Json]:
    """Return recorded weights as numbers, [head][query][key]."""
    return [
        {
            "kind": record.kind,
            "layer": record.layer,
            "module": record.module,
            "weights": np.round(record.sentence(0).astype(np.float64), 6).tolist(),
        }
        for record in records
    ]
