"""Attention of a language model over a text, with its predictions for the next token."""

from typing import Any

import torch
from torch import Tensor

from multihead.inspect.maps import record_sequence, running_text
from multihead.inspect.maps.running_text import visible_spaces
from multihead.inspect.text_inspection import TOP_K, Predictions, TextInspection, check_text
from multihead.tasks.language.text_generator import REPLACEMENT_CHARACTER, TextGenerator
from multihead.text.tokenizer import Tokenizer


def inspect_text(generator: TextGenerator, text: str) -> TextInspection:
    """Record the attention of a language model over a text, and its predictions for the next token.

    Args:
        generator: a causal language model.
        text: at most as long as the model's context.

    Raises:
        UserError: the text is empty, has unknown characters or is longer than the context.
    """
    check_text(text)
    ids, tokenizer = generator.encode_text(text), generator.tokenizer
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


def _token_label(tokenizer: Tokenizer, token: int) -> str:
    """Return a token as text, with its leading spaces made visible.

    The end symbol, and bytes that are not a character by themselves, keep their vocabulary entry.
    """
    text = tokenizer.decode([token])
    if token == tokenizer.eos_id or not text or REPLACEMENT_CHARACTER in text:
        return tokenizer.piece(token)
    word = text.lstrip()
    return visible_spaces(text[: len(text) - len(word)]) + word if word else visible_spaces(text)
