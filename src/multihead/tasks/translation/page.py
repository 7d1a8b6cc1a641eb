"""Page content for a translated sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from multihead.inspect import figures
from multihead.inspect.maps import AlignmentHead, Kind, align
from multihead.inspect.maps.alignment import CAUTION, most_informative
from multihead.inspect.page import equation, heads, inputs, packing
from multihead.inspect.page.flow import flow
from multihead.inspect.page.json_export import as_json, attention_as_json, tokens_as_json
from multihead.inspect.page.kinds import TRANSLATION
from multihead.inspect.page.limits import DEFAULT_CHOICE, MAX_BYTES, MAX_OTHER_BYTES, MAX_TOKENS
from multihead.inspect.page.packing import Json
from multihead.inspect.phrases import Phrase, phrase
from multihead.tasks.translation.attention import Recording, check, pair, record_output
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.search_tree import search_tree


@dataclass(frozen=True, slots=True)
class Exploration:
    """The content of a page on a sentence and its hypotheses.

    Attributes:
        recordings: recordings of the hypotheses with attention on the page, in its order.
        content: data of the page, JSON.
    """

    recordings: tuple[Recording, ...]
    content: Json


def explore(
    translator: Translator,
    text: str,
    target: str | None = None,
    *,
    name: str = "",
    choice: AlignmentHead = DEFAULT_CHOICE,
    words: bool = False,
    specials: bool = False,
    full: bool = False,
) -> Exploration:
    """Translate a sentence with recorded attention and return the page content.

    Everything, including the search, runs in fp32.

    Args:
        translator: a translator of a single run.
        text: the source sentence.
        target: a translation to show first, before the model's own.
        name: name of the run on the page.
        choice: layer and head of cross-attention to show first, also in the equation; numbers of other heads
            follow as far as there is room. Without a head: the most informative head of the layer.
        words: initially merge subwords into words.
        specials: initially show special symbols.
        full: embed everything, whatever the size: all tokens, all hypotheses, the numbers of all heads.

    Raises:
        UserError: see ``record_sentence``; the layer or head does not exist.
    """
    check(translator, text, target)
    candidates, tree = _candidates(translator, text, target)
    limit, room, other_room = (10**9, inf, inf) if full else (MAX_TOKENS, MAX_BYTES, MAX_OTHER_BYTES)
    first = _record(translator, text, candidates[0])
    layers, omitted = _layers(first, limit, room, encoder=True)
    recordings, hypotheses = [first], [_hypothesis(candidates[0], first, layers, limit)]
    for candidate in candidates[1:]:
        other_room -= _size(first, len(candidate.ids), limit)
        if other_room < 0:
            hypotheses.append(candidate.summary())
            continue
        recordings.append(_record(translator, text, candidate))
        layers, _ = _layers(recordings[-1], limit, inf, encoder=False)
        hypotheses.append(_hypothesis(candidate, recordings[-1], layers, limit))
    if len(recordings) < len(candidates):
        omitted.append(phrase("the attention of {} hypotheses", len(candidates) - len(recordings)))
    start = {**_start(first, choice), "words": words, "specials": specials}
    content = {
        "format": 1,
        "run": name,
        "caution": CAUTION,
        "sentence": figures.visible(text, 2000),
        "source": heads.tokens(first.source, limit),
        "hypotheses": hypotheses,
        "kinds": TRANSLATION,
        "tree": tree,
        "start": start,
        **_equations(first, start, limit, full=full),
        "flow": _flow(translator, text, candidates[0].ids, first),
        "positions": inputs.positions(translator.models[0]),
        "neighbours": _neighbours(translator, text, candidates[0].ids),
        "omitted": [*_omitted_tokens(first, limit), *omitted],
    }
    return Exploration(tuple(recordings), content)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A translation on the page; a given translation has no score."""

    ids: tuple[int, ...]
    text: str
    scores: Json
    eos_id: int

    def summary(self) -> Json:
        """Return its page data without attention."""
        text = figures.visible(self.text, 2000)
        return {"text": text, "ids": [*self.ids, self.eos_id], **self.scores, "layers": None}


def _candidates(translator: Translator, text: str, target: str | None) -> tuple[list[_Candidate], Json]:
    tokenizer = translator.target_tokenizer
    hypotheses, tree = search_tree(translator, text)
    candidates = [
        _Candidate(
            hypothesis.tokens,
            tokenizer.decode(hypothesis.tokens),
            {
                "score": packing.round_number(hypothesis.score),
                "sum": packing.round_number(hypothesis.log_probability),
                "cut": not hypothesis.finished,
            },
            tokenizer.eos_id,
        )
        for hypothesis in hypotheses
    ]
    if target is not None:
        log_probability = translator.score([(text, target)])[0].log_probability
        scores = {"score": None, "sum": packing.round_number(log_probability), "cut": False}
        candidates.insert(0, _Candidate(tuple(tokenizer.encode(target)), target, scores, tokenizer.eos_id))
    return candidates, tree


def _record(translator: Translator, text: str, candidate: _Candidate) -> Recording:
    return record_output(translator, text, candidate.ids, candidate.text)


def _hypothesis(candidate: _Candidate, recording: Recording, layers: list[Json], limit: int) -> Json:
    sides = {"read": heads.tokens(recording.read, limit), "target": heads.tokens(recording.target, limit)}
    return {**candidate.summary(), **sides, "layers": layers}


def _size(recording: Recording, length: int, limit: int) -> int:
    """Estimate the bytes on the page for the attention of another output of this length."""
    T, S = min(length + 1, limit), min(len(recording.source.pieces), limit)
    widths = {"cross": S, "decoder self": T, "encoder self": 0}
    return sum(record.num_heads * T * widths[record.kind] * 4 // 3 for record in recording.records)


def _layers(
    recording: Recording, limit: int, room: float, *, encoder: bool
) -> tuple[list[Json], list[Phrase]]:
    """Pack the layers that fit into ``room`` bytes, cross-attention first; name the omitted layers."""
    keys = {
        "encoder self": recording.source.pieces,
        "decoder self": recording.read.pieces,
        "cross": recording.source.pieces,
    }
    order: tuple[Kind, ...] = ("cross", "decoder self", "encoder self")
    records = [
        record
        for kind in order
        for record in recording.records
        if record.kind == kind and (encoder or kind != "encoder self")
    ]
    names = {entry["kind"]: entry["name"] for entry in TRANSLATION}
    layers, omitted = [], []
    for record in records:
        room -= heads.size(record, limit)
        if room >= 0:
            special_K = np.array([token.special for token in keys[record.kind]])
            layers.append(heads.layer(record, special_K, limit))
        else:
            omitted.append(phrase("{}, layer {}", names[record.kind], record.layer))
    return layers, omitted


def _omitted_tokens(recording: Recording, limit: int) -> Iterator[Phrase]:
    source, output = len(recording.source.pieces), len(recording.target.pieces)
    if source > limit:
        yield phrase("the source after its first {} of {} tokens", limit, source)
    if output > limit:
        yield phrase("the output after its first {} of {} tokens", limit, output)


def _start(recording: Recording, choice: AlignmentHead) -> Json:
    """Return the layer and head of cross-attention that the page opens with; head 0: all heads combined."""
    cross = [record for record in recording.records if record.kind == "cross"]
    if not cross:
        return {"kind": "cross", "layer": 1, "head": 0, "combine": choice.combine, "automatic": False}
    align(recording.records, recording.source, recording.target, choice=choice)  # checks layer and head
    return {
        "kind": "cross",
        "layer": choice.layer or most_informative([record.sentence(0) for record in cross]),
        "head": choice.head or 0,
        "combine": choice.combine,
        "automatic": choice.layer is None,
    }


def _equations(recording: Recording, start: Json, limit: int, *, full: bool) -> Json:
    """Return the inputs of the equation, beginning with the initial head.

    Without an initial head: the most informative head of the initial layer.
    """
    cross = [
        record for record in recording.records if record.kind == "cross" and record.layer == start["layer"]
    ]
    if not cross:
        return {"numbers": [], "numbers_left_out": 0}
    weights_HQK = cross[0].sentence(0)
    head = start["head"] or most_informative([weights_QK[None] for weights_QK in weights_HQK])
    return equation.equations(recording.records, (cross[0], head - 1), limit, full=full)


def _flow(translator: Translator, text: str, ids: Sequence[int], recording: Recording) -> Json:
    model = translator.models[0]
    batch = pair(translator, text, ids).to(translator.device)
    return flow(model, lambda module: module.score(batch), recording.records, batch.target_BT)


def _neighbours(translator: Translator, text: str, ids: Sequence[int]) -> Json:
    model, source, target = translator.models[0], translator.source_tokenizer, translator.target_tokenizer
    return {
        "source": inputs.neighbours(getattr(model, "source_embedding", None), source, source.encode(text)),
        "target": inputs.neighbours(getattr(model, "target_embedding", None), target, ids),
    }


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
                "text": hypothesis["text"],
                "score": hypothesis["score"],
                "log_probability": hypothesis["sum"],
                "read": tokens_as_json(recording.read),
                "target": tokens_as_json(recording.target),
                "attention": attention_as_json(recording.records),
            }
            # Hypotheses without a recording appear in the search tree only.
            for hypothesis, recording in zip(content["hypotheses"], exploration.recordings, strict=False)
        ],
        "search": content["tree"],
        "neighbours": content["neighbours"],
    }
    return as_json(listed)
