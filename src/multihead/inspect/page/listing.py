"""All numbers of an exploration as JSON to compute with: weights as numbers, not packed."""

import json

import numpy as np

from multihead.attention_maps import Sentence
from multihead.inspect.page.exploring import Exploration
from multihead.inspect.page.packing import Json
from multihead.inspect.recording import Recording


def numbers_as_json(exploration: Exploration) -> str:
    """Return the recorded weights of every hypothesis that the page shows, and the search, as JSON.

    Weights stand as [head][query][key] with six digits after the point.
    """
    content = exploration.content
    listed = {
        "run": content["run"],
        "caution": content["caution"],
        "source": {"text": content["sentence"], **_sides(exploration.recordings[0].source)},
        "hypotheses": [
            {
                "text": shown["text"],
                "score": shown["score"],
                "log_probability": shown["sum"],
                "read": _sides(recording.read),
                "target": _sides(recording.target),
                "attention": _attention(recording),
            }
            # Those after the last recording are in the search alone.
            for shown, recording in zip(content["hypotheses"], exploration.recordings, strict=False)
        ],
        "search": content["tree"],
        "neighbours": content["neighbours"],
    }
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) + "\n"


def _sides(sentence: Sentence) -> Json:
    return {
        "pieces": [token.text for token in sentence.pieces],
        "words": [token.text for token in sentence.words],
        "word_of_piece": [token.word for token in sentence.pieces],
    }


def _attention(recording: Recording) -> list[Json]:
    return [
        {
            "kind": record.kind,
            "layer": record.layer,
            "module": record.module,
            "weights": np.round(record.sentence(0).astype(np.float64), 6).tolist(),
        }
        for record in recording.records
    ]
