"""One sentence, translated, and recorded on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from multihead.attention_maps import Alignment, AttentionRecord, Choice, Sentence, align, record, sentence
from multihead.data.batches import collate
from multihead.errors import UserError
from multihead.generation import Translator


@dataclass(frozen=True, slots=True)
class Recording:
    """A pair, and everything that the model's attention did with it.

    Attributes:
        text: what was read.
        output: what was written.
        source: the source's tokens, its end symbol included: what encoder and cross-attention look at.
        read: the target's tokens as the decoder reads them, from the begin symbol: its keys.
        target: the target's tokens as it says them, to the end symbol: its queries.
        records: a batch of one sentence, special symbols included, queries, keys and values kept.
    """

    text: str
    output: str
    source: Sentence
    read: Sentence
    target: Sentence
    records: tuple[AttentionRecord, ...]


def record_sentence(translator: Translator, text: str, target: str | None = None) -> Recording:
    """Translate a sentence, or take a given translation, and record the model's attention.

    Args:
        translator: of one run.
        text: what to translate.
        target: a translation to look at in place of the model's own.

    Raises:
        UserError: an ensemble; no words; more of them than the model can take.
    """
    check(translator, text, target)
    if target is not None:
        return record_output(translator, text, translator.target_tokenizer.encode(target), target)
    found = translator.translate([text])[0]
    if not found.hypotheses:
        raise UserError(found.note or "nothing was translated", place="sentence")
    return record_output(translator, text, found.hypotheses[0].tokens, found.text)


def check(translator: Translator, text: str, target: str | None) -> None:
    """Refuse what cannot be recorded, with the errors of :func:`record_sentence`."""
    if len(translator.models) > 1:
        raise UserError("attention is looked at in one model at a time", remedy="Name one run.")
    source = translator.source_tokenizer.encode(text)
    if not source:
        raise UserError("there is no word to look at", place="sentence", remedy="Give a sentence.")
    said = [] if target is None else translator.target_tokenizer.encode(target)
    if fact := translator.too_long(source, said):
        raise UserError(fact, place="sentence", remedy="Give a shorter one.")


def record_output(translator: Translator, text: str, ids: Sequence[int], output: str) -> Recording:
    """Record the model's attention while it writes given pieces.

    Args:
        translator: of one run.
        text: what is read.
        ids: the output's pieces, without begin and end symbol.
        output: what they say.
    """
    read, write = translator.source_tokenizer, translator.target_tokenizer
    source_ids = read.encode(text)
    batch = collate([source_ids], [list(ids)], pad_id=write.pad_id, bos_id=write.bos_id, eos_id=write.eos_id)
    return Recording(
        text,
        output,
        sentence(read, [*source_ids, read.eos_id]),
        sentence(write, [write.bos_id, *ids]),
        sentence(write, [*ids, write.eos_id]),
        tuple(record(translator.models[0], batch, keep_inputs=True)),
    )


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
    """Return how a sentence and its translation are aligned by attention.

    Args:
        translator: of one run.
        text: what to translate.
        target: a translation to look at in place of the model's own.
        layer: counted from 1; None: the one that tells most about the source.
        head: counted from 1; None: all of them.
        combine: how several heads are put together.
        words: merge pieces to words.
        specials: show the end symbols too.

    Raises:
        UserError: as :func:`record_sentence`; a model without attention over the source; no such layer
            or head.
    """
    one = record_sentence(translator, text, target)
    choice = Choice(layer, head, combine)
    return align(one.records, one.source, one.target, choice=choice, words=words, specials=specials)
