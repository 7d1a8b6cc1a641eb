"""Attention of GPT and BERT models over one text, with their predictions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multihead.data.text_batches import Parts, as_input
from multihead.errors import UserError
from multihead.inspect.maps import AttentionRecord, Sentence, record_sequence, running_text, sentence
from multihead.inspect.maps.running_text import visible_spaces
from multihead.inspect.phrases import Phrase, phrase
from multihead.tasks.classification.text_classifier import Text, TextClassifier
from multihead.tasks.language.text_generator import REPLACEMENT_CHARACTER, TextGenerator
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.masked.mask_tokens import MASK, encode_masked, mask_id
from multihead.tasks.spans.answerer import Answer, Answerer
from multihead.tasks.spans.question_windows import window_parts, windows
from multihead.tasks.tagging.tagged import encode_words
from multihead.tasks.tagging.tagger import Tagger
from multihead.text.tokenizer import Tokenizer

BEYOND_LIMIT = "the text after its first {} of {} tokens, the limit of the model"
NO_ANSWER = "(none)"
SEPARATOR = " [SEP] "
TOP_K = 8
"""Number of predictions that are reported."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """Top-k predictions of a model.

    Attributes:
        target: what is predicted: "next token", "class", "answer", "[MASK] 2".
        probabilities: by prediction, in descending order.
    """

    target: str
    probabilities: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TextInspection:
    """A text, the attention of a model over it, and the model's predictions.

    Attributes:
        text: the input.
        tokens: one per position of the model, including special symbols.
        records: of kind "self", with queries, keys and values.
        predictions: next token, masked tokens or class.
        embedding: the model's token embedding.
        ids: tokens whose nearest neighbours in the embedding are shown.
        run: feeds the text to the model that it is given.
        omitted: parts of the text that the model did not read, phrases.
    """

    text: str
    tokens: Sentence
    records: tuple[AttentionRecord, ...]
    predictions: tuple[Predictions, ...]
    embedding: nn.Module
    ids: tuple[int, ...]
    run: Callable[[Any], object]
    omitted: tuple[Phrase, ...] = ()


def inspect_text(generator: TextGenerator, text: str) -> TextInspection:
    """Record the attention of a language model over a text, and its predictions for the next token.

    Args:
        generator: a causal language model.
        text: at most as long as the model's context.

    Raises:
        UserError: the text is empty, has unknown characters or is longer than the context.
    """
    _check(text)
    ids, tokenizer = generator.encoded(text), generator.tokenizer
    outputs: list[Tensor] = []

    def run(model: Any) -> None:
        hidden_1Td = model.hidden(torch.tensor([ids], device=generator.device))
        outputs.append(model.embedding.logits(hidden_1Td[0, -1]).float())

    records = record_sequence(generator.model, run, len(ids), keep_inputs=True)
    logits_V = outputs[0][: tokenizer.vocab_size]
    never_generated = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id} - {tokenizer.eos_id}
    logits_V[list(never_generated)] = -torch.inf
    best = logits_V.softmax(-1).topk(min(TOP_K, tokenizer.vocab_size - len(never_generated)))
    probabilities = {
        _token_label(tokenizer, token): p
        for token, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    }
    return TextInspection(
        text,
        running_text(tokenizer, text),
        tuple(records),
        (Predictions("next token", probabilities),),
        generator.model.get_submodule("embedding"),
        tuple(ids),
        run,
    )


def inspect_masked_text(filler: MaskFiller, text: str) -> TextInspection:
    """Record the attention of a masked language model over a text, and its predictions for each [MASK].

    Args:
        filler: the model.
        text: with or without "[MASK]".

    Raises:
        UserError: the text is empty or too long for the model.
    """
    _check(text)
    tokenizer, mask = filler.tokenizer, mask_id(filler.tokenizer)
    has_masks = MASK in text
    ids = encode_masked(tokenizer, text) if has_masks else tokenizer.encode(text)
    limit = int(filler.model.limit)  # type: ignore[arg-type]
    if len(ids) > limit - 2:
        fact = f"the text has {len(ids):,} tokens, and the model takes at most {limit - 2:,}"
        raise UserError(fact, place="text", remedy="Shorten it.")
    found = filler.fill(text, TOP_K).gaps if has_masks else []
    predictions = [
        Predictions(
            MASK if len(found) == 1 else f"{MASK} {number}", {guess.piece: guess.probability for guess in one}
        )
        for number, one in enumerate(found, start=1)
    ]
    standalone = () if mask is None else (mask,)
    return _encoder_inspection(
        filler.model, tokenizer, text, (np.array(ids), None), standalone, tuple(predictions), filler.device
    )


def inspect_classification(classifier: TextClassifier, text: Text) -> TextInspection:
    """Record the attention of a text classifier over a text or a pair, and the predicted classes.

    Args:
        classifier: the model.
        text: a text, or a pair for a model of pairs; truncated to the model's length, as in classification.

    Raises:
        UserError: a text is empty; one text for a model of pairs, or a pair for another.
    """
    given = [text] if isinstance(text, str) else [*text]
    for each in given:
        _check(each)
    (parts,) = classifier.encoded([text])
    (found,) = classifier.classify([text])
    read = sum(len(ids) for ids in parts if ids is not None)
    total = sum(map(len, classifier.tokenizer.encode_batch(given)))
    return _encoder_inspection(
        classifier.model,
        classifier.tokenizer,
        SEPARATOR.join(given),
        parts,
        (),
        (Predictions("class", dict(islice(found.probabilities.items(), TOP_K))),),
        classifier.device,
        (phrase(BEYOND_LIMIT, read, total),) if total > read else (),
    )


def inspect_tagging(tagger: Tagger, text: str) -> TextInspection:
    """Record the attention of a tagger over a sentence, and its tags.

    Args:
        tagger: the model.
        text: words with white space between them; truncated to the model's length.

    Raises:
        UserError: the text has no words.
    """
    words = text.split()
    if not words:
        raise UserError("the text has no words", place="text", remedy="Give a text.")
    (encoded,) = encode_words([words], tagger.tokenizer)
    limit = tagger.max_length - 2
    (tags,) = tagger.tag([words])
    shown = " ".join(f"{word}/{tag}" for word, tag in zip(words, tags, strict=True))
    omitted = (phrase(BEYOND_LIMIT, limit, len(encoded.ids)),)
    return _encoder_inspection(
        tagger.model,
        tagger.tokenizer,
        text,
        (encoded.ids[:limit], None),
        (),
        (Predictions("tags", {shown: 1.0}),),
        tagger.device,
        omitted if len(encoded.ids) > limit else (),
    )


def inspect_answer(answerer: Answerer, question: str, text: str) -> TextInspection:
    """Record the attention between a question and a text, and the answer in it.

    Args:
        answerer: the model.
        question: the question.
        text: truncated to the first window that the model reads.

    Raises:
        UserError: question or text has no words.
    """
    encoded = answerer.encoded(question, text, "question")
    window = next(windows(encoded, 0, answerer.data), None)
    if window is None:
        raise UserError("the text has no words", place="text", remedy="Give a text.")
    (answer,) = answerer.answer([(question, text)])
    omitted = (phrase(BEYOND_LIMIT, window.end, len(encoded.text)),)
    return _encoder_inspection(
        answerer.model,
        answerer.tokenizer,
        f"{question}{SEPARATOR}{text}",
        window_parts(encoded, window),
        (),
        (Predictions("answer", {answer.text or NO_ANSWER: _probability(answer)}),),
        answerer.device,
        omitted if window.end < len(encoded.text) else (),
    )


def _probability(answer: Answer) -> float:
    """Return the probability of the output, where the choice is between the best span and no answer."""
    odds = answer.score if answer.text else -answer.score
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, odds))))


def _encoder_inspection(
    model: nn.Module,
    tokenizer: Tokenizer,
    text: str,
    parts: Parts,
    standalone: tuple[int, ...],
    predictions: tuple[Predictions, ...],
    device: torch.device,
    omitted: tuple[Phrase, ...] = (),
) -> TextInspection:
    """Record an encoder's attention over one text or two, with their special symbols."""
    first, second = parts
    if not len(first) or (second is not None and not len(second)):
        raise UserError("the text has no words", place="text", remedy="Give a text.")
    batch = as_input([parts], tokenizer).to(device)
    read = batch.ids_BN[0, : int(batch.lengths_B[0])].tolist()
    ids = [*first.tolist(), *(() if second is None else second.tolist())]

    def run(model: Any) -> object:
        return model(batch)

    records = record_sequence(model, run, len(read), keep_inputs=True)
    tokens = sentence(tokenizer, read, standalone)
    embedding = model.get_submodule("encoder.embedding")
    return TextInspection(text, tokens, tuple(records), predictions, embedding, tuple(ids), run, omitted)


def _check(text: str) -> None:
    if not text:
        raise UserError("the text is empty", place="text", remedy="Give a text.")


def _token_label(tokenizer: Tokenizer, token: int) -> str:
    """Return a token of running text as it is written, with leading spaces made visible.

    The end symbol, and bytes that form no character by themselves, keep their vocabulary entry.
    """
    text = tokenizer.decode([token])
    if token == tokenizer.eos_id or not text or REPLACEMENT_CHARACTER in text:
        return tokenizer.piece(token)
    word = text.lstrip()
    return visible_spaces(text[: len(text) - len(word)]) + word if word else visible_spaces(text)
