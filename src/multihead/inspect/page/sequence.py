"""From a sequence that was read to all that the page shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from torch import nn

from multihead.attention_maps import AttentionRecord, Choice, Sentence
from multihead.attention_maps.alignment import CAUTION
from multihead.attention_maps.self_alignment import resolve
from multihead.inspect import pictures
from multihead.inspect.page import heads, inputs, numbers, packing
from multihead.inspect.page.exploring import EVERYTHING, MOST_BYTES, MOST_TOKENS
from multihead.inspect.page.listing import attention, sides_listed
from multihead.inspect.page.packing import Floats, Json
from multihead.inspect.text_inspection import Guesses, Reading
from multihead.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Asked:
    """How a page is to begin, and how much it shall hold.

    Attributes:
        name: of the run, as the page names it.
        choice: which layer and head to show first; its numbers are embedded.
        words: begin with pieces merged to words.
        specials: begin with special symbols shown.
        full: embed everything, however large.
    """

    name: str = ""
    choice: Choice = EVERYTHING
    words: bool = False
    specials: bool = False
    full: bool = False

    @property
    def most(self) -> int:
        """Tokens of a side that are shown."""
        return 10**9 if self.full else MOST_TOKENS


@dataclass(frozen=True, slots=True)
class SequenceExploration:
    """A sequence explored.

    Attributes:
        content: what the page reads, JSON.
        listed: all its numbers, weights as numbers.
    """

    content: Json
    listed: Json


def explore_reading(
    reading: Reading, model: nn.Module, tokenizer: Tokenizer, kind: Json, asked: Asked = Asked()
) -> SequenceExploration:
    """Put together what the page shows of a text.

    Args:
        reading: the text, recorded.
        model: that read it.
        tokenizer: its vocabulary.
        kind: how its tokens look at each other, from ``page.kinds``.
        asked: how to begin.

    Raises:
        UserError: no such layer or head.
    """
    said = [(guesses.question, in_short(guesses)) for guesses in reading.guesses]
    content = content_of(
        reading.records,
        reading.text,
        told=[("reads", pictures.visible(reading.text, 2000)), *said],
        tokens=reading.tokens,
        start=start(reading, asked),
        kinds=[kind],
        asked=asked,
    )
    near = inputs.neighbours(reading.embedding, tokenizer, reading.ids[: asked.most])
    content |= {
        "positions": inputs.positions(model),
        "neighbours": {"source": near, "target": []},
        "guesses": [listed_guesses(one) for one in reading.guesses],
        "leftOut": [*reading.left_out, *content["leftOut"]],
    }
    listed = {
        "run": asked.name,
        "caution": CAUTION,
        "text": reading.text,
        **sides_listed(reading.tokens),
        "guesses": [{"question": one.question, "answers": dict(one.answers)} for one in reading.guesses],
        "attention": attention(reading.records),
        "neighbours": near,
    }
    return SequenceExploration(content, listed)


def start(reading: Reading, asked: Asked) -> Json:
    """Return the layer and head that the page opens with."""
    layer, head = resolve(reading.records, reading.tokens, asked.choice)
    begun = {"words": asked.words, "specials": asked.specials, "combine": asked.choice.combine}
    return {"kind": "self", "layer": layer, "head": head, "told": False, **begun}


def content_of(
    records: Sequence[AttentionRecord],
    title: str,
    *,
    told: Sequence[tuple[str, str]],
    tokens: Sentence,
    start: Json,
    kinds: Sequence[Json],
    asked: Asked,
    apart_NN: Floats | None = None,
) -> Json:
    """Return what every page of one sequence holds.

    Args:
        records: of kind "self".
        title: of the window.
        told: the lines of the heading, each a word that explains and a text.
        tokens: the sequence.
        start: what the page opens with.
        kinds: from ``page.kinds``.
        asked: how much to hold.
        apart_NN: how far the places are from each other; None: as in a text.
    """
    special_K = np.array([token.special for token in tokens.pieces])
    room, layers, missing = (inf if asked.full else MOST_BYTES), [], []
    for record in records:
        room -= heads.size(record, asked.most)
        if room >= 0:
            layers.append(heads.layer(record, special_K, asked.most, apart_NN))
        else:
            missing.append(f"attention of layer {record.layer}")
    length = int(records[0].query_lengths_B[0])
    if length > asked.most:
        missing.insert(0, f"what comes after the first {asked.most:,} of {length:,} tokens")
    return {
        "format": 1,
        "run": asked.name,
        "caution": CAUTION,
        "sentence": pictures.visible(title, 2000),
        "told": [list(line) for line in told],
        "source": heads.sides(tokens, asked.most),
        "hypotheses": [{"text": "", "ids": [], "score": None, "layers": layers}],
        "kinds": list(kinds),
        "tree": {"steps": []},
        "start": start,
        "numbers": _numbers(records, start, asked),
        "positions": None,
        "neighbours": {"source": [], "target": []},
        "guesses": [],
        "leftOut": missing,
    }


def _numbers(records: Sequence[AttentionRecord], start: Json, asked: Asked) -> list[Json]:
    """Return the numbers of the head that the page opens with, or of all."""
    found = [
        numbers.head_numbers(record, head, asked.most)
        for record in records
        for head in range(record.num_heads)
        if asked.full or (record.layer == start["layer"] and head == max(0, start["head"] - 1))
    ]
    return [one for one in found if one is not None]


def in_short(guesses: Guesses) -> str:
    """The likeliest three answers in a line."""
    answers = list(guesses.answers.items())[:3]
    return " · ".join(f"{pictures.visible(answer, 40)} {_percent(p)}" for answer, p in answers)


def listed_guesses(guesses: Guesses) -> Json:
    """Return answers as the page reads them."""
    answers = [
        {"text": pictures.visible(answer, 60), "p": packing.rounded(p)}
        for answer, p in guesses.answers.items()
    ]
    return {"question": pictures.visible(guesses.question, 60), "answers": answers}


def _percent(p: float) -> str:
    return f"{100 * p:.0f} %" if p >= 0.0095 else "< 1 %"
