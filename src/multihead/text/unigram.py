"""Viterbi training of a unigram language model of subwords (Kudo 2018, sec. 3.2).

The trainer of the ``tokenizers`` library visits words in hash order, so its vocabulary differs between
processes. Here the library only segments words; counts are integers, whose sums do not depend on order.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tokenizers import Tokenizer as Library
from tokenizers import models

from multihead.text.tokenizer import UNKNOWN

_KEEP = 0.75
"""Fraction of the pieces kept by a round of pruning (the paper keeps 80 %)."""
_PASSES = 2
"""EM iterations between two rounds of pruning."""
_UNUSED = 0.5
"""Count given to a piece that no word uses, so that its probability is not zero."""

Scores = dict[str, float]


def unigram_scores(
    words: Mapping[str, int], seeds: Sequence[str], characters: Sequence[str], size: int
) -> list[tuple[str, float]]:
    """Return pieces with their log-probabilities, most probable first.

    Args:
        words: words and their counts.
        seeds: the seed vocabulary, including the characters.
        characters: pieces that are never pruned.
        size: number of pieces to keep, at least the number of characters.
    """
    scores = dict.fromkeys(seeds, -1.0)
    always = set(characters)
    while True:
        for _ in range(_PASSES):
            counts = _viterbi_counts(words, scores)
            scores = _estimate(counts, scores)
        if len(scores) <= size:
            return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        # Loss of log-likelihood without the piece: its count times the cost of the next best segmentation.
        losses = {
            piece: counts[piece] * (score - _best_without(piece, scores))
            for piece, score in scores.items()
            if piece not in always
        }
        ranked = sorted(losses, key=lambda piece: (-losses[piece], piece))
        survivors = always.union(ranked[: max(size, int(len(scores) * _KEEP)) - len(always)])
        scores = {piece: score for piece, score in scores.items() if piece in survivors}


def _viterbi_counts(words: Mapping[str, int], scores: Scores) -> Counter[str]:
    """Return the count of each piece in the most probable segmentation of every word."""
    pieces = [UNKNOWN, *scores]
    library = Library(models.Unigram([(UNKNOWN, 0.0), *scores.items()], unk_id=0, byte_fallback=False))
    counts: Counter[str] = Counter()
    encodings = library.encode_batch_fast(list(words), add_special_tokens=False)
    for encoding, times in zip(encodings, words.values(), strict=True):
        for number in encoding.ids:
            counts[pieces[number]] += times
    return counts


def _estimate(counts: Mapping[str, int], scores: Scores) -> Scores:
    """Return log-probabilities from relative frequencies, rounded to be the same on every machine."""
    total = sum(max(counts[piece], _UNUSED) for piece in scores)
    return {piece: round(math.log(max(counts[piece], _UNUSED) / total), 6) for piece in scores}


def _best_without(piece: str, scores: Scores) -> float:
    """Return the log-probability of the most probable segmentation of a piece into others."""
    best = [0.0] + [-math.inf] * len(piece)
    for end in range(1, len(piece) + 1):
        for start in range(end):
            part = piece[start:end]
            if part in scores and part != piece:
                best[end] = max(best[end], best[start] + scores[part])
    return best[-1]
