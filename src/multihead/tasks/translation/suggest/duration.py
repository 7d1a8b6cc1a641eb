"""Decides how long to train, how often to validate, and by what."""

from typing import Literal

from multihead.tasks.translation.suggest.decision import Decision
from multihead.tasks.translation.suggest.profile import CorpusProfile, SideProfile

Metric = Literal["bleu", "chrf", "exact", "wer", "cer"]

BOUND = 3
"""Bound on the updates of other schedules, in multiples of the cosine schedule's."""
SHORTEST = 3_000
"""Updates of the bound, at least."""
PATIENCE, PATIENCE_SHARE = 5, 0.2
"""Validations without improvement, and their share of all updates, before the cool-down starts."""
OFTEN, SELDOM = 50, 2_000
"""Updates between validations: at least and at most; between them, an epoch."""
VALID_PAIRS, VALID_LEAST, VALID_MOST = 300, 0.01, 0.05
"""Pairs held out: so many, but within these shares of the corpus."""
LEAST_HELD_OUT = 50
"""Pairs held out whatever the share, see ``data.valid_fraction``."""
BEAM = 5
"""Hypotheses of beam search."""
LONG_OUTPUT = 10
"""Symbols of an output, on average, from which on beam search prefers short ones."""
EXTRA = 50
"""Tokens by which an output may be longer than its input, at least."""


def updates(epoch: int, epochs: int, schedule: str) -> Decision[int]:
    """Decide the number of updates, an upper bound for schedule wsd.

    Args:
        epoch: updates of an epoch.
        epochs: epochs of a cosine schedule.
        schedule: the schedule.
    """
    planned = epochs * epoch
    if schedule != "wsd":
        return Decision(max(500, round(planned, -2)), f"{epochs} epochs of about {epoch:,} updates")
    bound = max(SHORTEST, round(BOUND * planned, -2))
    return Decision(bound, "an upper bound: validation decides when training ends")


def interval(epoch: int, steps: int) -> Decision[int]:
    """Decide the updates between validations."""
    every = max(1, min(max(OFTEN, min(epoch, SELDOM)), steps))
    return Decision(every, f"an epoch has about {epoch:,} updates")


def metric(corpus: CorpusProfile, kind: str) -> Decision[Metric]:
    """Decide the metric that selects checkpoints and ends training."""
    if corpus.structure.is_formal:
        return Decision("exact", f"outputs are right or wrong, in {corpus.structure}")
    if kind == "spaced":
        return Decision("wer", "outputs are symbols between spaces: share of wrong symbols")
    if kind == "chars":
        return Decision("cer", "outputs are spelt: share of wrong characters")
    if corpus.target.unspaced:
        return Decision("chrf", "BLEU needs spaces between words")
    return Decision("bleu", "outputs are running text")


def valid_fraction(pairs: int) -> Decision[float]:
    """Decide the share of the corpus that is held out for validation."""
    share = round(min(max(VALID_PAIRS / max(1, pairs), VALID_LEAST), VALID_MOST), 4)
    held_out = max(LEAST_HELD_OUT, share * pairs)
    return Decision(share, f"about {held_out:,.0f} pairs, which decide when training ends")


def beam_size(target: SideProfile, kind: str) -> Decision[int]:
    """Decide the beam: long outputs of a closed set are searched greedily.

    Label smoothing takes probability from every symbol, so that an output that ends early is more probable as
    a whole than a long one that is right. On held-out SCAN commands, a beam of 5 was right in 88 % and greedy
    search in 98 % of the outputs; on CMUdict, whose outputs are short, there was no such difference.
    """
    if kind == "spaced" and target.line_words >= LONG_OUTPUT:
        return Decision(1, f"outputs of {target.line_words:.0f} symbols: a beam prefers those that end early")
    return Decision(BEAM, "")


def stop(kind: str) -> Decision[Literal["exact", "first"]]:
    """Decide when beam search ends: of spelt outputs, not before no other one can be more probable.

    A confident model gives every character but one next to no probability, so that ends enter the beam at
    each of them, and as many outputs as it holds are finished before the right one. Of 200 made-up Roman
    numerals 88.5 % were right then, and 99.5 % are with this.
    """
    if kind in ("chars", "spaced"):
        return Decision("exact", "outputs are symbol by symbol: wrong ones that end early fill the beam")
    return Decision("first", "")


def max_extra(corpus: CorpusProfile, kinds: tuple[str, str]) -> Decision[int]:
    """Decide by how many tokens an output may be longer than its input."""
    if kinds[1] == "spaced":
        longest = round((1 + corpus.target.long_line) / (1 + corpus.target.word_characters))
    else:
        longest = corpus.target.long_line // (1 if kinds[1] == "chars" or corpus.target.unspaced else 4)
    up_to = f"up to about {longest:,} tokens" if longest > 1 else "1 token"
    return Decision(max(EXTRA, 2 * longest), f"99 % of the outputs have {up_to}")
