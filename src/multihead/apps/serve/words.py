"""Words of a translation: attention, probabilities and alternatives."""

from dataclasses import dataclass
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
"""Number of alternatives for a word, number of tokens tried, and their smallest probability."""


@dataclass(frozen=True)
class WordAlignment:
    """A sentence and its translation, word by word.

    Attributes:
        source: place of each word in the sentence, in characters.
        target: place of each word in the translation.
        weights_TS: attention of each target word on each source word; rows sum to 1, or to 0.
        probabilities: probability of each target word given the words before it: the minimum over its tokens.
    """

    source: list[Span]
    target: list[Span]
    weights_TS: list[list[float]]
    probabilities: list[float]


def words_of(translator: LineTranslator, text: str, translation: str) -> WordAlignment:
    """Return the words of a sentence and its translation; none for a model without cross-attention.

    Args:
        translator: the translator of a single run.
        text: one sentence.
        translation: its translation, or another text.
    """
    line = SearchedLine(SentenceUnit(text), text, PlaceholderTable((), ()))
    (attention,) = translator.word_weights([line], [translation], Lexicon())
    if attention is None:
        return WordAlignment([], [], [], [])
    weights = np.asarray(attention.matrix_TS).round(3).tolist()
    probabilities = _probabilities(translator, text, translation)
    if len(probabilities) != len(attention.rows):
        probabilities = [1.0] * len(attention.rows)
    return WordAlignment(attention.columns, attention.rows, weights, probabilities)


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
        settings: search settings.
    """
    begun = _next_prefixes(translator, text, prefix)
    if not begun:
        return []
    prefixes = [begin for begin, _ in begun]
    completing = settings.model_copy(update={"n_best": 1})
    translations = translator.translate([text] * len(prefixes), completing, prefixes=prefixes)
    by_word: dict[str, tuple[str, float]] = {}
    for translation, (_, chance) in zip(translations, begun, strict=True):
        if word := _next_word(translation.text, prefix):
            by_word.setdefault(word, (translation.text, chance))
    return list(by_word.values())[:MOST_CHOICES]


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
    inputs = [target.bos_id, *begun]
    with torch.inference_mode():
        state = model.start(batch, [inputs])
        logits_1V, _ = model.step(torch.tensor([inputs[-1]], device=full.device), state)
    chances_V = logits_1V[0, : target.vocab_size].float().softmax(-1)
    never = {target.pad_id, target.bos_id, target.eos_id, target.unk_id}
    best = chances_V.topk(min(CANDIDATES, target.vocab_size))
    prefixes = []
    for token, chance in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        tokens = [*begun, token]
        spelled = target.decode(tokens)
        # A token that is not a text by itself, such as a byte, cannot be forced by a text.
        if token not in never and chance >= LEAST and list(target.encode(spelled)) == tokens:
            prefixes.append((spelled, chance))
    return prefixes


def _next_word(text: str, prefix: str) -> str:
    # The search may spell the prefix's words otherwise.
    after = text[len(prefix) :].split() if text.startswith(prefix) else text.split()[len(prefix.split()) :]
    return after[0] if after else ""
