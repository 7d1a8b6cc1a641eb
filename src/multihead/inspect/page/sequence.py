"""Page content for a model with a single sequence."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from torch import nn

from multihead.inspect import figures
from multihead.inspect.maps import AlignmentHead, AttentionRecord, Sentence
from multihead.inspect.maps.alignment import CAUTION
from multihead.inspect.maps.self_alignment import resolve
from multihead.inspect.page import equation, heads, inputs, packing
from multihead.inspect.page.flow import flow
from multihead.inspect.page.json_export import attention_as_json, tokens_as_json
from multihead.inspect.page.limits import DEFAULT_CHOICE, MAX_BYTES, MAX_TOKENS
from multihead.inspect.page.packing import Floats, Json
from multihead.inspect.phrases import Phrase, phrase
from multihead.inspect.text_inspection import Predictions, TextInspection
from multihead.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Initial view and size limits of a page.

    Attributes:
        name: name of the run on the page.
        choice: layer and head to show first; the numbers of its equation are embedded.
        words: initially merge subwords into words.
        specials: initially show special symbols.
        full: embed everything, regardless of size.
    """

    name: str = ""
    choice: AlignmentHead = DEFAULT_CHOICE
    words: bool = False
    specials: bool = False
    full: bool = False

    @property
    def max_tokens(self) -> int:
        """Number of tokens shown per sequence."""
        return 10**9 if self.full else MAX_TOKENS


@dataclass(frozen=True, slots=True)
class SequenceExploration:
    """Data of a page about a sequence.

    Attributes:
        content: data of the page, JSON.
        listed: the same data for export, with weights as numbers.
    """

    content: Json
    listed: Json


def explore_text(
    inspection: TextInspection,
    model: nn.Module,
    tokenizer: Tokenizer,
    kind: Json,
    options: PageOptions = PageOptions(),
) -> SequenceExploration:
    """Return the page content of a text.

    Args:
        inspection: the text with its recorded attention.
        model: the inspected model.
        tokenizer: the model's tokenizer.
        kind: labels of its attention, from ``page.kinds``.
        options: initial view and size limits of the page.

    Raises:
        UserError: no such layer or head.
    """
    predictions = [(prediction.target, top_three(prediction)) for prediction in inspection.predictions]
    content = sequence_content(
        inspection.records,
        inspection.text,
        heading=[("text", figures.visible(inspection.text, 2000)), *predictions],
        tokens=inspection.tokens,
        start=start(inspection.records, inspection.tokens, options),
        kinds=[kind],
        options=options,
        flow=flow(model, inspection.run, inspection.records),
    )
    neighbours = inputs.neighbours(inspection.embedding, tokenizer, inspection.ids[: options.max_tokens])
    content |= {
        "positions": inputs.positions(model),
        "neighbours": {"source": neighbours, "target": []},
        "predictions": [packed_predictions(prediction) for prediction in inspection.predictions],
        "omitted": [*inspection.omitted, *content["omitted"]],
    }
    listed = {
        "run": options.name,
        "caution": CAUTION,
        "text": inspection.text,
        **tokens_as_json(inspection.tokens),
        "guesses": [
            {"question": prediction.target, "answers": dict(prediction.probabilities)}
            for prediction in inspection.predictions
        ],
        "attention": attention_as_json(inspection.records),
        "neighbours": neighbours,
    }
    return SequenceExploration(content, listed)


def start(records: Sequence[AttentionRecord], tokens: Sentence, options: PageOptions) -> Json:
    """Return the initial state of the page: layer, head and switches."""
    layer, head = resolve(records, tokens, options.choice)
    return {
        "kind": "self",
        "layer": layer,
        "head": head,
        "automatic": False,
        "words": options.words,
        "specials": options.specials,
        "combine": options.choice.combine,
    }


def sequence_content(
    records: Sequence[AttentionRecord],
    title: str,
    *,
    heading: Sequence[tuple[str, str | Phrase]],
    tokens: Sentence,
    start: Json,
    kinds: Sequence[Json],
    options: PageOptions,
    flow: Json,
    distances_NN: Floats | None = None,
) -> Json:
    """Return the common content of all pages of a single sequence.

    Args:
        records: attention of kind "self".
        title: title of the window.
        heading: lines of the heading, each a label and a text or a phrase.
        tokens: the sequence.
        start: initial state of the page.
        kinds: labels of the attention, from ``page.kinds``.
        options: size limits of the page.
        flow: the model's data flow, from ``page.flow``.
        distances_NN: distances between positions; None: differences of positions in a text.
    """
    special_K = np.array([token.special for token in tokens.pieces])
    room, layers, omitted = (inf if options.full else MAX_BYTES), [], []
    for record in records:
        room -= heads.size(record, options.max_tokens)
        if room >= 0:
            layers.append(heads.layer(record, special_K, options.max_tokens, distances_NN))
        else:
            omitted.append(phrase("attention of layer {}", record.layer))
    length = int(records[0].query_lengths_B[0])
    if length > options.max_tokens:
        omitted.insert(0, phrase("everything after the first {} of {} tokens", options.max_tokens, length))
    return {
        "format": 1,
        "run": options.name,
        "caution": CAUTION,
        "sentence": figures.visible(title, 2000),
        "heading": [list(line) for line in heading],
        "source": heads.tokens(tokens, options.max_tokens),
        "hypotheses": [{"text": "", "ids": [], "score": None, "layers": layers}],
        "kinds": list(kinds),
        "tree": {"steps": []},
        "start": start,
        **_equations(records, start, options),
        "flow": flow,
        "positions": None,
        "neighbours": {"source": [], "target": []},
        "predictions": [],
        "omitted": omitted,
    }


def _equations(records: Sequence[AttentionRecord], start: Json, options: PageOptions) -> Json:
    """Return the inputs of the equation, beginning with the initial head."""
    record = next((record for record in records if record.layer == start["layer"]), records[0])
    first = record, min(max(0, start["head"] - 1), record.num_heads - 1)
    return equation.equations(records, first, options.max_tokens, full=options.full)


def top_three(predictions: Predictions) -> str:
    """Return the three most probable predictions as one line."""
    best = list(predictions.probabilities.items())[:3]
    return " · ".join(f"{figures.visible(text, 40)} {_percent(p)}" for text, p in best)


def packed_predictions(predictions: Predictions) -> Json:
    """Return predictions as page data."""
    answers = [
        {"text": figures.visible(text, 60), "p": packing.round_number(p)}
        for text, p in predictions.probabilities.items()
    ]
    return {"target": figures.visible(predictions.target, 60), "answers": answers}


def _percent(p: float) -> str:
    return f"{100 * p:.0f} %" if p >= 0.0095 else "< 1 %"
