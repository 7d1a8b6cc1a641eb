"""Evaluation metrics of text and labels. Nothing here imports torch."""

from multihead.scores.bleu import Score, bleu, chrf, sentence_chrf
from multihead.scores.error_rates import character_error_rate, exact_match, word_error_rate
from multihead.scores.lengths import LengthBucket, by_length
from multihead.scores.perplexity import format_perplexity, perplexity
from multihead.scores.significance import Comparison, Interval, against_first, paired_bootstrap

__all__ = [
    "Comparison",
    "Interval",
    "LengthBucket",
    "Score",
    "against_first",
    "bleu",
    "by_length",
    "character_error_rate",
    "chrf",
    "exact_match",
    "format_perplexity",
    "paired_bootstrap",
    "perplexity",
    "sentence_chrf",
    "word_error_rate",
]
