"""Decides which pairs are too long or too unequal: limits that find errors, not the nature of a corpus."""

import math

from multihead.recipe.settings import DataSettings
from multihead.tasks.translation.suggest import sizes
from multihead.tasks.translation.suggest.decision import Decision
from multihead.tasks.translation.suggest.profile import CorpusProfile, SideProfile

USUAL_RATIO: float = DataSettings.model_fields["max_length_ratio"].default
USUAL_LENGTH: int = DataSettings.model_fields["max_length"].default
USUAL_CHARACTERS: int = DataSettings.model_fields["max_chars"].default
RULE = 0.02
"""Share of the pairs from which on being unequal is a property of the corpus."""
EXTREME = 0.01
"""Share of the most unequal pairs beyond the limit of such a corpus."""
ROOM = 1.25
"""Limits are so much wider than what nearly all pairs need."""
LONGEST = 1_024
"""Tokens of a side, at most: time and memory of attention grow with the square."""


def decide_length_ratio(corpus: CorpusProfile) -> Decision[float]:
    """Decide the largest ratio of the two lengths: definitions and summaries are unequal by nature."""
    beyond = sum(pairs for ratio, pairs in corpus.ratios.items() if ratio > USUAL_RATIO)
    unequal = beyond / max(1, corpus.pairs)
    if unequal <= RULE:
        return Decision(USUAL_RATIO, "")
    left = EXTREME * corpus.pairs
    for ratio in sorted(corpus.ratios, reverse=True):
        left -= corpus.ratios[ratio]
        if left < 0:
            break
    return Decision(
        float(math.ceil(ROOM * ratio)),
        f"one side is more than {USUAL_RATIO:g} times as long as the other in {unequal:.0%} of the pairs",
    )


def length(corpus: CorpusProfile, kinds: tuple[str, str]) -> Decision[int]:
    """Decide the largest number of tokens of a side."""
    longest = max(map(_long_line, (corpus.source, corpus.target), kinds))
    if ROOM * longest <= USUAL_LENGTH:
        return Decision(USUAL_LENGTH, "")
    limit = 64 * math.ceil(ROOM * longest / 64)
    return Decision(min(limit, LONGEST), f"99 % of the lines have up to about {longest:,} tokens")


def decide_characters(corpus: CorpusProfile) -> Decision[int]:
    """Decide the largest number of characters of a side."""
    longest = max(corpus.source.long_line, corpus.target.long_line)
    if ROOM * longest <= USUAL_CHARACTERS:
        return Decision(USUAL_CHARACTERS, "")
    limit = 1_000 * math.ceil(ROOM * longest / 1_000)
    return Decision(limit, f"99 % of the lines have up to {longest:,} characters")


def _long_line(side: SideProfile, kind: str) -> int:
    """Estimate the tokens of the 99th percentile of the lines, by those of all lines."""
    return math.ceil(side.long_line * sizes.tokens(side, kind) / max(1, side.total_characters))
