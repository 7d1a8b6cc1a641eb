"""Scores: text or labels in, numbers out. Knows no torch."""

from multihead.scores.bleu import Score, bleu, chrf
from multihead.scores.exact import exact_match
from multihead.scores.lengths import LengthBucket, by_length
from multihead.scores.perplexity import format_perplexity, perplexity
from multihead.scores.significance import Comparison, Interval, paired_bootstrap

__all__ = [
    "Comparison",
    "Interval",
    "LengthBucket",
    "Score",
    "bleu",
    "by_length",
    "chrf",
    "exact_match",
    "format_perplexity",
    "paired_bootstrap",
    "perplexity",
]
