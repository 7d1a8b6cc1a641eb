"""From a sentence to all that the page shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from multihead.attention_maps import Choice, Kind, align
from multihead.attention_maps.alignment import CAUTION, most_informative
from multihead.generation import Translator
from multihead.inspect import pictures
from multihead.inspect.page import heads, inputs, numbers, packing
from multihead.inspect.page.kinds import TRANSLATION
from multihead.inspect.page.packing import Json
from multihead.inspect.page.tree import search_tree
from multihead.inspect.recording import Recording, check, record_output

EVERYTHING = Choice()
"""The most telling layer, all its heads."""
MOST_TOKENS = 300
"""Pieces of a side that are shown where not all are asked for."""
MOST_BYTES, MOST_OTHERS = 20_000_000, 1_200_000
"""Of the weights of the first hypothesis, and of those of all others together."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """A sentence explored: the recordings, and what the page is made of.

    Attributes:
        recordings: of the translations, in the order in which the page lists them, as far as it shows their
            attention.
        content: what the page reads, JSON.
    """

    recordings: tuple[Recording, ...]
    content: Json


def explore(
    translator: Translator,
    text: str,
    target: str | None = None,
    *,
    name: str = "",
    choice: Choice = EVERYTHING,
    words: bool = False,
    specials: bool = False,
    full: bool = False,
) -> Exploration:
    """Translate a sentence, record all attention on the way, and put together what the page shows.

    Everything runs in fp32, search too.

    Args:
        translator: of one run.
        text: what to translate.
        target: a translation to look at first, in place of the model's own.
        name: of the run, as the page names it.
        choice: which cross-attention to show first; its head's numbers are embedded, those of the most
            telling head of its layer if it names none.
        words: begin with pieces merged to words.
        specials: begin with special symbols shown.
        full: embed everything, however large: all tokens, all hypotheses, the numbers of all heads.

    Raises:
        UserError: as ``record_sentence``; no such layer or head.
    """
    check(translator, text, target)
    candidates, tree = _candidates(translator, text, target)
    most, limit, room = (10**9, inf, inf) if full else (MOST_TOKENS, MOST_BYTES, MOST_OTHERS)
    first = _recorded(translator, text, candidates[0])
    layers, missing = _layers(first, most, limit, encoder=True)
    recordings, shown = [first], [_hypothesis(candidates[0], first, layers, most)]
    for candidate in candidates[1:]:
        room -= _size(first, len(candidate.ids), most)
        if room < 0:
            shown.append(candidate.told())
            continue
        recordings.append(_recorded(translator, text, candidate))
        layers, _ = _layers(recordings[-1], most, inf, encoder=False)
        shown.append(_hypothesis(candidate, recordings[-1], layers, most))
    if len(recordings) < len(candidates):
        missing.append(f"the attention of {len(candidates) - len(recordings)} hypotheses")
    start = {**_start(first, choice), "words": words, "specials": specials}
    content = {
        "format": 1,
        "run": name,
        "caution": CAUTION,
        "sentence": pictures.visible(text, 2000),
        "source": heads.sides(first.source, most),
        "hypotheses": shown,
        "kinds": TRANSLATION,
        "tree": tree,
        "start": start,
        "numbers": _numbers(first, start, most, full=full),
        "positions": inputs.positions(translator.models[0]),
        "neighbours": _neighbours(translator, text, candidates[0].ids),
        "leftOut": [*_cut(first, most), *missing],
    }
    return Exploration(tuple(recordings), content)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A translation to show; a given one has no score."""

    ids: tuple[int, ...]
    text: str
    scores: Json
    eos_id: int

    def told(self) -> Json:
        """What the page says of it without its attention."""
        text = pictures.visible(self.text, 2000)
        return {"text": text, "ids": [*self.ids, self.eos_id], **self.scores, "layers": None}


def _candidates(translator: Translator, text: str, target: str | None) -> tuple[list[_Candidate], Json]:
    write = translator.target_tokenizer
    found, tree = search_tree(translator, text)
    candidates = [
        _Candidate(
            one.tokens,
            write.decode(one.tokens),
            {
                "score": packing.rounded(one.score),
                "sum": packing.rounded(one.log_probability),
                "cut": not one.finished,
            },
            write.eos_id,
        )
        for one in found
    ]
    if target is not None:
        sum_ = translator.score([(text, target)])[0].log_probability
        scores = {"score": None, "sum": packing.rounded(sum_), "cut": False}
        candidates.insert(0, _Candidate(tuple(write.encode(target)), target, scores, write.eos_id))
    return candidates, tree


def _recorded(translator: Translator, text: str, candidate: _Candidate) -> Recording:
    return record_output(translator, text, candidate.ids, candidate.text)


def _hypothesis(candidate: _Candidate, recording: Recording, layers: list[Json], most: int) -> Json:
    sides = {"read": heads.sides(recording.read, most), "target": heads.sides(recording.target, most)}
    return {**candidate.told(), **sides, "layers": layers}


def _size(recording: Recording, length: int, most: int) -> int:
    """About how many bytes the attention of another output of this length takes in the page."""
    T, S = min(length + 1, most), min(len(recording.source.pieces), most)
    widths = {"cross": S, "decoder self": T, "encoder self": 0}
    return sum(one.num_heads * T * widths[one.kind] * 4 // 3 for one in recording.records)


def _layers(recording: Recording, most: int, room: float, *, encoder: bool) -> tuple[list[Json], list[str]]:
    """Pack the layers that fit into so many bytes, cross-attention first; name those that do not."""
    keys = {
        "encoder self": recording.source.pieces,
        "decoder self": recording.read.pieces,
        "cross": recording.source.pieces,
    }
    order: tuple[Kind, ...] = ("cross", "decoder self", "encoder self")
    wanted = [
        record
        for kind in order
        for record in recording.records
        if record.kind == kind and (encoder or kind != "encoder self")
    ]
    layers, missing = [], []
    for record in wanted:
        room -= heads.size(record, most)
        if room >= 0:
            special_K = np.array([token.special for token in keys[record.kind]])
            layers.append(heads.layer(record, special_K, most))
        else:
            missing.append(f"{record.kind} attention, layer {record.layer}")
    return layers, missing


def _cut(recording: Recording, most: int) -> Iterator[str]:
    for name, side in (("source", recording.source), ("output", recording.target)):
        if len(side.pieces) > most:
            yield f"the {name} after its first {most:,} of {len(side.pieces):,} tokens"


def _start(recording: Recording, choice: Choice) -> Json:
    """Which layer and head of cross-attention the page opens with; head 0: all of them."""
    cross = [record for record in recording.records if record.kind == "cross"]
    if not cross:
        return {"kind": "cross", "layer": 1, "head": 0, "combine": choice.combine, "told": False}
    align(recording.records, recording.source, recording.target, choice=choice)  # refuses what there is not
    layer = choice.layer or most_informative([record.sentence(0) for record in cross])
    told = {"combine": choice.combine, "told": choice.layer is None}
    return {"kind": "cross", "layer": layer, "head": choice.head or 0, **told}


def _numbers(recording: Recording, start: Json, most: int, *, full: bool) -> list[Json]:
    """Return the numbers of the head to start with, the sharpest of its layer if none is named; or of all."""
    chosen = [
        (record, head)
        for record in recording.records
        for head in range(record.num_heads)
        if full or (record.kind == "cross" and record.layer == start["layer"])
    ]
    if not full and chosen:
        wanted = start["head"] or most_informative(
            [record.sentence(0)[head, None] for record, head in chosen]
        )
        chosen = [chosen[wanted - 1]]
    found = (numbers.head_numbers(record, head, most) for record, head in chosen)
    return [one for one in found if one is not None]


def _neighbours(translator: Translator, text: str, ids: Sequence[int]) -> Json:
    model, read, write = translator.models[0], translator.source_tokenizer, translator.target_tokenizer
    return {
        "source": inputs.neighbours(getattr(model, "source_embedding", None), read, read.encode(text)),
        "target": inputs.neighbours(getattr(model, "target_embedding", None), write, ids),
    }
