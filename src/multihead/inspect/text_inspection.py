"""One text, read by a model that reads nothing else: tokens, attention, and what the model says of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multihead.attention_maps import AttentionRecord, Sentence, record_sequence, running_text, sentence
from multihead.attention_maps.running_text import visible_spaces
from multihead.data.text_batches import as_input
from multihead.errors import UserError
from multihead.generation.mask_filler import MaskFiller
from multihead.generation.text_classifier import TextClassifier
from multihead.generation.text_generator import REPLACEMENT_CHARACTER, TextGenerator
from multihead.text.masking import MASK, encode_masked, mask_id
from multihead.text.tokenizer import Tokenizer

GUESSES = 8
"""How many of the likeliest answers are told."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """What a model says: answers to one question with their probabilities, the likeliest first."""

    question: str
    answers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """A sequence that was read, and everything that attention did with it.

    Attributes:
        text: what was given.
        tokens: one for each place of the model, special symbols included.
        records: of kind "self"; queries, keys and values kept.
        guesses: what the model says of it.
        embedding: the model's, of the tokenizer's pieces.
        ids: the pieces whose embeddings are looked at.
        left_out: what of the text the model did not read.
    """

    text: str
    tokens: Sentence
    records: tuple[AttentionRecord, ...]
    guesses: tuple[Guesses, ...]
    embedding: nn.Module
    ids: tuple[int, ...]
    left_out: tuple[str, ...] = ()


def read_text(writer: TextGenerator, text: str) -> Reading:
    """Let a language model read a text, and say what would follow.

    Args:
        writer: the model; its tokens look back only.
        text: at most as long as its context.

    Raises:
        UserError: no text; unknown characters; longer than the context.
    """
    _check(text)
    ids, tokenizer = writer.encoded(text), writer.tokenizer
    said: list[Tensor] = []

    def run(model: Any) -> None:
        hidden_1Td = model.hidden(torch.tensor([ids], device=writer.device))
        said.append(model.embedding.logits(hidden_1Td[0, -1]).float())

    records = record_sequence(writer.model, run, len(ids), keep_inputs=True)
    logits_V = said[0][: tokenizer.vocab_size]
    silent = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id} - {tokenizer.eos_id}
    logits_V[list(silent)] = -torch.inf
    best = logits_V.softmax(-1).topk(min(GUESSES, tokenizer.vocab_size - len(silent)))
    answers = {
        _written(tokenizer, token): p
        for token, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    }
    return Reading(
        text,
        running_text(tokenizer, text),
        tuple(records),
        (Guesses("goes on with", answers),),
        writer.model.get_submodule("embedding"),
        tuple(ids),
    )


def read_gaps(filler: MaskFiller, text: str) -> Reading:
    """Let a model that fills gaps read a text, and say what stands in its gaps, if it has any.

    Args:
        filler: the model.
        text: with "[MASK]" where something is missing, or without.

    Raises:
        UserError: no text; longer than the model can read.
    """
    _check(text)
    tokenizer, gap = filler.tokenizer, mask_id(filler.tokenizer)
    gaps = MASK in text
    ids = encode_masked(tokenizer, text) if gaps else tokenizer.encode(text)
    limit = int(filler.model.limit)  # type: ignore[arg-type]
    if len(ids) > limit - 2:
        fact = f"{len(ids):,} pieces are more than the model can read ({limit - 2:,})"
        raise UserError(fact, place="text", remedy="Leave out a part of it.")
    found = filler.fill(text, GUESSES).gaps if gaps else []
    guesses = [
        Guesses(
            MASK if len(found) == 1 else f"{MASK} {number}", {guess.piece: guess.probability for guess in one}
        )
        for number, one in enumerate(found, start=1)
    ]
    alone = () if gap is None else (gap,)
    return _encoded(filler.model, tokenizer, text, ids, alone, tuple(guesses), filler.device)


def read_class(classifier: TextClassifier, text: str) -> Reading:
    """Let a classifier read a text, and say its class.

    Args:
        classifier: the model.
        text: what is longer than the model reads is cut off, as when it classifies.

    Raises:
        UserError: no text.
    """
    _check(text)
    tokenizer, most = classifier.tokenizer, classifier.max_length - 2
    whole = tokenizer.encode(text)
    left_out = (
        f"the text after its first {most:,} of {len(whole):,} tokens, for the model reads no more",
    ) * (len(whole) > most)
    named = Guesses(
        "is taken for", dict(islice(classifier.classify([text])[0].probabilities.items(), GUESSES))
    )
    return _encoded(
        classifier.model, tokenizer, text, whole[:most], (), (named,), classifier.device, left_out
    )


def _encoded(
    model: nn.Module,
    tokenizer: Tokenizer,
    text: str,
    ids: list[int],
    alone: tuple[int, ...],
    guesses: tuple[Guesses, ...],
    device: torch.device,
    left_out: tuple[str, ...] = (),
) -> Reading:
    """What an encoder between [CLS] and [SEP] does with pieces."""
    if not ids:
        raise UserError("there is no word to look at", place="text", remedy="Give a text.")
    read = as_input([(np.array(ids), None)], tokenizer).to(device)
    records = record_sequence(model, lambda one: one(read), len(ids) + 2, keep_inputs=True)
    tokens = sentence(tokenizer, [tokenizer.bos_id, *ids, tokenizer.eos_id], alone)
    embedding = model.get_submodule("encoder.embedding")
    return Reading(text, tokens, tuple(records), guesses, embedding, tuple(ids), left_out)


def _check(text: str) -> None:
    if not text:
        raise UserError("there is no text to look at", place="text", remedy="Give a text.")


def _written(tokenizer: Tokenizer, token: int) -> str:
    """A piece of running text as it is written, spaces before it made visible.

    The end symbol, and bytes that are no character by themselves, stand as the vocabulary writes them.
    """
    text = tokenizer.decode([token])
    if token == tokenizer.eos_id or not text or REPLACEMENT_CHARACTER in text:
        return tokenizer.piece(token)
    word = text.lstrip()
    return visible_spaces(text[: len(text) - len(word)]) + word if word else visible_spaces(text)
