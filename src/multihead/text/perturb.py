"""Sentences made worse on purpose, to see what a model makes of them: cut, with gaps, out of order.

Noise as of Lample et al. 2018, sec. 2.3. Everything random follows from (seed, number of the sentence).
"""

import random
from typing import Literal

Perturbation = Literal["trim", "omit", "permute"]


def perturb(text: str, how: Perturbation, rate: float, *, seed: int = 1, number: int = 0) -> str:
    """Return a sentence made worse; at least one word is left of it.

    Args:
        text: words set apart by spaces.
        how: ``trim`` cuts this part off the end; ``omit`` leaves out each word with this chance; ``permute``
            shuffles, and no word moves further than this part of the sentence.
        rate: 0 (nothing happens) to 1.
        seed: of the chances.
        number: of the sentence, so that each has chances of its own.
    """
    words = text.split()
    if not words or not rate:
        return text
    chance = random.Random(f"{seed} {number} {how}")
    if how == "trim":
        left = words[: max(1, len(words) - round(rate * len(words)))]
    elif how == "omit":
        left = [word for word in words if chance.random() >= rate] or [chance.choice(words)]
    else:
        left = permuted(words, round(rate * len(words)), chance)
    return " ".join(left)


def permuted(words: list[str], furthest: int, chance: random.Random) -> list[str]:
    """Return the words in another order, none further than ``furthest`` places from where it was."""
    keys = [place + chance.uniform(0, furthest + 1) for place in range(len(words))]
    return [words[place] for place in sorted(range(len(words)), key=keys.__getitem__)]
