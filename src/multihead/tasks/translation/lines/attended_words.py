"""Attention of the words of a translation on the words of its source."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from multihead.inspect.maps import AlignmentHead, align, sentence
from multihead.inspect.maps.records import Attended
from multihead.tasks.translation.texts.protected_line import SearchedLine
from multihead.tasks.translation.texts.tag_alignment import Floats, Weights, locate
from multihead.tasks.translation.texts.text_layout import Span
from multihead.text import symbols
from multihead.text.lexicon import Lexicon
from multihead.text.tokenizer import Tokenizer

UNKNOWN = 0.02
"""Weight of a word pair that is missing from the lexicon."""


class _Tokenizers(Protocol):
    """The tokenizers and the length limit of a translator."""

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer

    def too_long(self, source: Sequence[int], target: Sequence[int]) -> str | None:
        """Return a message if a side is longer than the limit."""


def word_weights(
    attended: Attended,
    translator: _Tokenizers,
    lines: Sequence[SearchedLine],
    texts: Sequence[str],
    lexicon: Lexicon,
) -> list[Weights | None]:
    """Return, for each translation, the attention of its words on the words of its source.

    Attention is vague about articles and prepositions; a lexicon corrects it.
    """
    source, target = translator.source_tokenizer, translator.target_tokenizer
    sources = source.encode_batch([line.text for line in lines])
    marked = [_mark(text, line) for line, text in zip(lines, texts, strict=True)]
    targets = target.encode_batch(marked)
    if any(translator.too_long(*pair) for pair in zip(sources, targets, strict=True)):
        return [None] * len(lines)
    records = attended(sources, targets)
    if not records:
        return [None] * len(lines)
    results: list[Weights | None] = []
    for index, (line, text) in enumerate(zip(lines, texts, strict=True)):
        source_words = sentence(source, [*sources[index], source.eos_id], getattr(source, "tag_ids", ()))
        target_words = sentence(target, [*targets[index], target.eos_id])
        aligned = align(
            records,
            source_words,
            target_words,
            index=index,
            words=True,
            choice=AlignmentHead(all_layers=True),
        )
        originals = {entry.symbol: entry.span.text for entry in line.table.entries}
        rows = _spans(text, [originals.get(word.text, word.text) for word in aligned.target])
        columns = _spans(line.unit.text, [originals.get(word.text, word.text) for word in aligned.source])
        weights = Weights(aligned.matrix_TS.astype(np.float64), rows, columns)
        weights = _inform(weights, text, line.unit.text, lexicon)
        results.append(_sharpen(weights, text, line.unit.text))
    return results


def _inform(weights: Weights, text: str, sentence: str, lexicon: Lexicon) -> Weights:
    """Multiply each weight by how well its words translate each other."""
    scores_TS = np.array(
        [
            [lexicon.weight(sentence[a:b], text[start:end]) for a, b in weights.columns]
            for start, end in weights.rows
        ]
    ).reshape(weights.matrix_TS.shape)
    return _with_rows(weights, weights.matrix_TS * (scores_TS + UNKNOWN))


def _with_rows(weights: Weights, matrix_TS: Floats) -> Weights:
    """Return weights with this matrix, its rows normalised to sum 1."""
    totals_T = matrix_TS.sum(axis=1, keepdims=True)
    return weights._replace(matrix_TS=matrix_TS / np.where(totals_T > 0, totals_T, 1))


def _sharpen(weights: Weights, text: str, sentence: str) -> Weights:
    """Let target words compete for source words, and match punctuation with punctuation alone.

    Each weight is multiplied by its squared share of the attention on its source word: an article attends
    most to its noun, but the noun's translation does so more.
    """
    target_is_word = np.array([_is_word(text[start:end]) for start, end in weights.rows])
    source_is_word = np.array([_is_word(sentence[start:end]) for start, end in weights.columns])
    if not target_is_word.any() or not source_is_word.any():
        return weights
    matrix_TS = np.where(target_is_word[:, None] == source_is_word, weights.matrix_TS, 0.0)
    shares_TS = matrix_TS / np.maximum(matrix_TS.sum(axis=0), 1e-9)
    return _with_rows(weights, matrix_TS * shares_TS**2)


def _is_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _mark(text: str, line: SearchedLine) -> str:
    """Return a finished translation with the symbols that the model reads and writes."""
    if not line.symbols:
        return text
    entries = line.table.entries
    places = zip(locate(text, [entry.span.text for entry in entries]), entries, strict=True)
    symbols_at = sorted((place.start, entry.symbol, place.end) for place, entry in places if place)
    parts, end = [], 0
    for start, symbol, stop in symbols_at:
        if start >= end:
            parts += [symbols.escape(text[end:start]), symbol]
            end = stop
    return "".join([*parts, symbols.escape(text[end:])])


def _spans(text: str, words: Sequence[str]) -> list[Span]:
    """Return the place of each word in a text that may spell it differently, e.g. in case."""
    folded = text.casefold() if len(text.casefold()) == len(text) else text
    spans: list[Span] = []
    end = 0
    for word in words:
        folded_word = word.casefold() if folded is not text else word
        start = folded.find(folded_word, end) if folded_word else end
        if start < 0 or start > end + 20 + len(word):  # spelt differently: the next word of the text
            start = end + (len(text[end:]) - len(text[end:].lstrip()))
        end = min(len(text), start + len(word))
        spans.append(Span(start, end))
    return spans
