"""A unigram language model of pieces (Kudo 2018, sec. 3.2), by Viterbi training.

The library's own trainer goes through words in hash order, so its vocabulary differs from process to
process. Here the library only cuts the words; what is counted are whole numbers, whose sums know no order.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tokenizers import Tokenizer as Library
from tokenizers import models

from multihead.text.tokenizer import UNKNOWN

_KEEP = 0.75
"""Part of the pieces that outlives a round of pruning (the paper keeps 80 %)."""
_PASSES = 2
"""Estimates of the probabilities between two prunings."""
_UNUSED = 0.5
"""Count of a piece that no word needs, so that its probability is not zero."""

Scores = dict[str, float]


def unigram_scores(
    words: Mapping[str, int], seeds: Sequence[str], letters: Sequence[str], size: int
) -> list[tuple[str, float]]:
    """Return pieces with their log-probabilities, the likeliest first.

    Args:
        words: words and how often they occur.
        seeds: the pieces to choose from, the letters among them.
        letters: pieces that are never dropped.
        size: pieces wanted, at least as many as letters.
    """
    scores = dict.fromkeys(seeds, -1.0)
    always = set(letters)
    while True:
        for _ in range(_PASSES):
            counts = _used(words, scores)
            scores = _estimated(counts, scores)
        if len(scores) <= size:
            return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        # What the text would lose in likelihood without the piece: its uses, each cut in the second-best way.
        losses = {
            piece: counts[piece] * (score - _best_without(piece, scores))
            for piece, score in scores.items()
            if piece not in always
        }
        ranked = sorted(losses, key=lambda piece: (-losses[piece], piece))
        kept = always.union(ranked[: max(size, int(len(scores) * _KEEP)) - len(always)])
        scores = {piece: score for piece, score in scores.items() if piece in kept}


def _used(words: Mapping[str, int], scores: Scores) -> Counter[str]:
    """Return how often each piece occurs when every word is cut in its likeliest way."""
    pieces = [UNKNOWN, *scores]
    library = Library(models.Unigram([(UNKNOWN, 0.0), *scores.items()], unk_id=0, byte_fallback=False))
    counts: Counter[str] = Counter()
    found = library.encode_batch_fast(list(words), add_special_tokens=False)
    for encoding, times in zip(found, words.values(), strict=True):
        for number in encoding.ids:
            counts[pieces[number]] += times
    return counts


def _estimated(counts: Mapping[str, int], scores: Scores) -> Scores:
    """Return log-probabilities by relative frequency, rounded so that every machine has the same."""
    total = sum(max(counts[piece], _UNUSED) for piece in scores)
    return {piece: round(math.log(max(counts[piece], _UNUSED) / total), 6) for piece in scores}


def _best_without(piece: str, scores: Scores) -> float:
    """Return the log-probability of the likeliest way to make a piece from others."""
    best = [0.0] + [-math.inf] * len(piece)
    for end in range(1, len(piece) + 1):
        for start in range(end):
            part = piece[start:end]
            if part in scores and part != piece:
                best[end] = max(best[end], best[start] + scores[part])
    return best[-1]
