"""Words of a translation: what each attends to, how probable it is, and what could stand in its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import torch

from multihead.inspect.maps import sentence
from multihead.recipe.settings import SearchSettings
from multihead.tasks.translation.lines.batching import SourceLine
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.searching import collate_sources
from multihead.tasks.translation.texts.protected_line import SearchedLine
from multihead.tasks.translation.texts.text_layout import SentenceUnit, Span
from multihead.text.lexicon import Lexicon
from multihead.text.placeholders import PlaceholderTable

MOST_CHOICES, CANDIDATES, LEAST = 7, 10, 0.002
"""Number of alternatives for a word, of tokens that are tried, and their smallest probability."""


@dataclass(frozen=True)
class WordAlignment:
    """A sentence and its translation, word by word.

    Attributes:
        source: place of each word in the sentence, in characters.
        target: place of each word in the translation.
        weights_TS: attention of each target word on each source word; rows sum to 1, or to 0.
        probabilities: of each target word, given all before it: the smallest of its tokens'.
    """

    source: list[Span]
    target: list[Span]
    weights_TS: list[list[float]]
    probabilities: list[float]


def words_of(translator: LineTranslator, text: str, translation: str) -> WordAlignment:
    """Return the words of a sentence and its translation; none for a model without cross-attention.

    Args:
        translator: of a single run.
        text: one sentence.
        translation: its translation, or another text.
    """
    line = SearchedLine(SentenceUnit(text), text, PlaceholderTable((), ()))
    (found,) = translator.word_weights([line], [translation], Lexicon())
    if found is None:
        return WordAlignment([], [], [], [])
    weights = np.asarray(found.matrix_TS).round(3).tolist()
    probabilities = _probabilities(translator, text, translation)
    if len(probabilities) != len(found.rows):
        probabilities = [1.0] * len(found.rows)
    return WordAlignment(found.columns, found.rows, weights, probabilities)


def _probabilities(translator: LineTranslator, text: str, translation: str) -> list[float]:
    (scored,) = translator.with_models().score([(text, translation)])
    target = translator.target_tokenizer
    written = sentence(target, [*target.encode(translation), target.eos_id])
    lowest: dict[int, float] = {}
    for piece, score in zip(written.pieces, scored.token_log_probabilities, strict=False):
        if not piece.special:
            lowest[piece.word] = min(lowest.get(piece.word, 0.0), score)
    return [round(float(np.exp(score)), 4) for _, score in sorted(lowest.items())]


def choices(
    translator: LineTranslator, text: str, prefix: str, settings: SearchSettings
) -> list[tuple[str, float]]:
    """Return translations with a given prefix and different next words, the most probable word first.

    The most probable tokens after the prefix are forced, and each is completed by a search with that prefix
    (prefix-constrained search, Wuebker et al. 2016). Each has the probability of its first token.

    Args:
        translator: a translator.
        text: one sentence.
        prefix: whole words of a translation.
        settings: of the search.
    """
    begun = _next_prefixes(translator, text, prefix)
    if not begun:
        return []
    prefixes = [one for one, _ in begun]
    completing = settings.model_copy(update={"n_best": 1})
    found = translator.translate([text] * len(prefixes), completing, prefixes=prefixes)
    kept: dict[str, tuple[str, float]] = {}
    for one, (_, chance) in zip(found, begun, strict=True):
        if word := _next_word(one.text, prefix):
            kept.setdefault(word, (one.text, chance))
    return list(kept.values())[:MOST_CHOICES]


def _next_prefixes(translator: LineTranslator, text: str, prefix: str) -> list[tuple[str, float]]:
    """Return the prefix with each of the most probable tokens after it, and their probabilities."""
    source, target = translator.source_tokenizer, translator.target_tokenizer
    ids, begun = source.encode(text), target.encode(prefix)
    if not ids or translator.too_long(ids, begun):
        return []
    full = translator.with_models()
    line = SourceLine(text, ids, begun, 0)
    batch = collate_sources([line], pad_id=source.pad_id, eos_id=source.eos_id).to(full.device)
    model: Any = full.models[0]
    read = [target.bos_id, *begun]
    with torch.inference_mode():
        state = model.start(batch, [read])
        logits_1V, _ = model.step(torch.tensor([read[-1]], device=full.device), state)
    chances_V = logits_1V[0, : target.vocab_size].float().softmax(-1)
    never = {target.pad_id, target.bos_id, target.eos_id, target.unk_id}
    best = chances_V.topk(min(CANDIDATES, target.vocab_size))
    found = []
    for token, chance in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        tokens = [*begun, token]
        spelled = target.decode(tokens)
        # A token that is no text of its own, such as a byte, cannot be forced by a text.
        if token not in never and chance >= LEAST and list(target.encode(spelled)) == tokens:
            found.append((spelled, chance))
    return found


def _next_word(text: str, prefix: str) -> str:
    rest = text[len(prefix) :].lstrip() if text.startswith(prefix) else _after(text.split(), prefix.split())
    return "".join(takewhile(lambda char: not char.isspace(), rest))


def _after(words: Sequence[str], before: Sequence[str]) -> str:
    """Return what follows as many words as a prefix has: it may be spelt otherwise."""
    return " ".join(words[len(before) :])
