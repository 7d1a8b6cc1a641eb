"""JSON export of an inspection: weights as numbers, for further computation."""

import json
from collections.abc import Sequence

import numpy as np

from multihead.inspect.maps import AttentionRecord, Sentence
from multihead.inspect.page.packing import Json
from multihead.tasks.translation.page import Exploration


def numbers_as_json(exploration: Exploration) -> str:
    """Return the beam search and the attention of every hypothesis on the page as JSON.

    Weights are indexed [head][query][key] and rounded to six decimals.
    """
    content = exploration.content
    listed = {
        "run": content["run"],
        "caution": content["caution"],
        "source": {"text": content["sentence"], **tokens_as_json(exploration.recordings[0].source)},
        "hypotheses": [
            {
                "text": shown["text"],
                "score": shown["score"],
                "log_probability": shown["sum"],
                "read": tokens_as_json(recording.read),
                "target": tokens_as_json(recording.target),
                "attention": attention_as_json(recording.records),
            }
            # Hypotheses without a recording appear in the search tree only.
            for shown, recording in zip(content["hypotheses"], exploration.recordings, strict=False)
        ],
        "search": content["tree"],
        "neighbours": content["neighbours"],
    }
    return as_json(listed)


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
