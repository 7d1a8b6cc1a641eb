"""Attention of an encoder or decoder over one text, with the model's predictions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from multihead.data.text_batches import Parts, as_input
from multihead.errors import UserError
from multihead.inspect.maps import AttentionRecord, Sentence, record_sequence, sentence
from multihead.inspect.phrases import Phrase
from multihead.text.tokenizer import Tokenizer

BEYOND_LIMIT = "the text after its first {} of {} tokens, the limit of the model"
SEPARATOR = " [SEP] "
TOP_K = 8
"""Number of reported predictions."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """Top-k predictions of a model.

    Attributes:
        target: the predicted quantity: "next token", "class", "answer", "[MASK] 2".
        probabilities: probability by prediction, in descending order.
    """

    target: str
    probabilities: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TextInspection:
    """A text, the attention of a model over it, and the model's predictions.

    Attributes:
        text: the input.
        tokens: the model's input, one token per position, including special symbols.
        records: attention of kind "self", with queries, keys and values.
        predictions: next token, masked tokens or class.
        embedding: the model's token embedding.
        ids: tokens whose nearest neighbours in the embedding are shown.
        run: feeds the text to a model.
        omitted: parts of the text that the model did not read, as phrases.
    """

    text: str
    tokens: Sentence
    records: tuple[AttentionRecord, ...]
    predictions: tuple[Predictions, ...]
    embedding: nn.Module
    ids: tuple[int, ...]
    run: Callable[[Any], object]
    omitted: tuple[Phrase, ...] = ()


def inspect_encoder(
    model: nn.Module,
    tokenizer: Tokenizer,
    text: str,
    parts: Parts,
    standalone: tuple[int, ...],
    predictions: tuple[Predictions, ...],
    device: torch.device,
    omitted: tuple[Phrase, ...] = (),
) -> TextInspection:
    """Record an encoder's attention over one text or two, special symbols included."""
    first, second = parts
    if not len(first) or (second is not None and not len(second)):
        raise UserError("the text has no words", place="text", remedy="Give a text.")
    batch = as_input([parts], tokenizer).to(device)
    input_ids = batch.ids_BN[0, : int(batch.lengths_B[0])].tolist()
    ids = [*first.tolist(), *(() if second is None else second.tolist())]

    def run(model: Any) -> object:
        return model(batch)

    records = record_sequence(model, run, len(input_ids), keep_inputs=True)
    tokens = sentence(tokenizer, input_ids, standalone)
    embedding = model.get_submodule("encoder.embedding")
    return TextInspection(text, tokens, tuple(records), predictions, embedding, tuple(ids), run, omitted)


def check_text(text: str) -> None:
    """Raise ``UserError`` for an empty text."""
    if not text:
        raise UserError("the text is empty", place="text", remedy="Give a text.")
