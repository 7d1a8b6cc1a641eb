"""Translation of one sentence with recorded attention."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.errors import UserError
from multihead.inspect.maps import (
    Alignment,
    AlignmentHead,
    AttentionRecord,
    Sentence,
    align,
    record,
    sentence,
)
from multihead.tasks.translation.lines import Translator


@dataclass(frozen=True, slots=True)
class Recording:
    """A sentence, its translation, and the recorded attention.

    Attributes:
        text: the source sentence.
        output: the translation.
        source: source tokens with the end symbol: the keys of encoder self- and cross-attention.
        read: decoder input, from the begin symbol: the keys of decoder self-attention.
        target: decoder output, to the end symbol: the queries of the decoder.
        records: the attention of each layer, special symbols included, with queries, keys and values.
    """

    text: str
    output: str
    source: Sentence
    read: Sentence
    target: Sentence
    records: tuple[AttentionRecord, ...]


def record_sentence(translator: Translator, text: str, target: str | None = None) -> Recording:
    """Translate a sentence, or take a given translation, and record the attention.

    Args:
        translator: a translator of a single run.
        text: the source sentence.
        target: a translation to use in place of the model's own.

    Raises:
        UserError: the translator is an ensemble; the sentence is empty or too long for the model.
    """
    check(translator, text, target)
    if target is not None:
        return record_output(translator, text, translator.target_tokenizer.encode(target), target)
    translation = translator.translate([text])[0]
    if not translation.hypotheses:
        raise UserError(translation.note or "the translation is empty", place="sentence")
    return record_output(translator, text, translation.hypotheses[0].tokens, translation.text)


def check(translator: Translator, text: str, target: str | None) -> None:
    """Raise the errors of :func:`record_sentence` before anything is computed."""
    if len(translator.models) > 1:
        raise UserError("the attention of an ensemble cannot be shown", remedy="Name a single run.")
    source = translator.source_tokenizer.encode(text)
    if not source:
        raise UserError("the sentence has no words", place="sentence", remedy="Give a sentence.")
    output = [] if target is None else translator.target_tokenizer.encode(target)
    if fact := translator.too_long(source, output):
        raise UserError(fact, place="sentence", remedy="Give a shorter one.")


def record_output(translator: Translator, text: str, ids: Sequence[int], output: str) -> Recording:
    """Record the attention of a given output, teacher-forced.

    Args:
        translator: a translator of a single run.
        text: the source sentence.
        ids: the output's subwords without begin and end symbol.
        output: the output's text.
    """
    source, target = translator.source_tokenizer, translator.target_tokenizer
    batch = pair(translator, text, ids)
    return Recording(
        text,
        output,
        sentence(source, [*source.encode(text), source.eos_id]),
        sentence(target, [target.bos_id, *ids]),
        sentence(target, [*ids, target.eos_id]),
        tuple(record(translator.models[0], batch, keep_inputs=True)),
    )


def pair(translator: Translator, text: str, ids: Sequence[int]) -> PairBatch:
    """Return a batch of one pair: a sentence and an output's subwords."""
    source, target = translator.source_tokenizer.encode(text), translator.target_tokenizer
    return collate([source], [list(ids)], pad_id=target.pad_id, bos_id=target.bos_id, eos_id=target.eos_id)


def inspect_sentence(
    translator: Translator,
    text: str,
    target: str | None = None,
    *,
    layer: int | None = None,
    head: int | None = None,
    combine: Literal["mean", "max"] = "mean",
    words: bool = False,
    specials: bool = False,
) -> Alignment:
    """Return the attention alignment of a sentence and its translation.

    Args:
        translator: a translator of a single run.
        text: the source sentence.
        target: a translation to use in place of the model's own.
        layer: counted from 1; None: the most informative layer.
        head: counted from 1; None: all heads combined.
        combine: the reduction over heads.
        words: merge subwords into words.
        specials: keep the end symbols.

    Raises:
        UserError: see :func:`record_sentence`; the model lacks cross-attention, or the layer or head.
    """
    recording = record_sentence(translator, text, target)
    choice = AlignmentHead(layer, head, combine)
    return align(
        recording.records, recording.source, recording.target, choice=choice, words=words, specials=specials
    )
