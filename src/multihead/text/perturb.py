"""Perturbed inputs for robustness tests: truncation, word drop and local shuffling.

Word drop and shuffling as in Lample et al. 2018, sec. 2.3. All randomness is a function of (seed, sentence
number).
"""

import random
from typing import Literal

Perturbation = Literal["trim", "omit", "permute"]


def perturb(text: str, how: Perturbation, rate: float, *, seed: int = 1, number: int = 0) -> str:
    """Return a perturbed sentence of at least one word.

    Args:
        text: words separated by white space.
        how: ``trim`` removes this fraction of the words from the end, ``omit`` drops each word with this
            probability, ``permute`` shuffles, moving no word by more than this fraction of the sentence.
        rate: from 0 (no change) to 1.
        seed: seeds the perturbation.
        number: number of the sentence; each is perturbed differently.
    """
    words = text.split()
    if not words or not rate:
        return text
    generator = random.Random(f"{seed} {number} {how}")
    if how == "trim":
        left = words[: max(1, len(words) - round(rate * len(words)))]
    elif how == "omit":
        left = [word for word in words if generator.random() >= rate] or [generator.choice(words)]
    else:
        left = permute(words, round(rate * len(words)), generator)
    return " ".join(left)


def permute(words: list[str], max_distance: int, generator: random.Random) -> list[str]:
    """Return the words in random order, none moved by more than ``max_distance`` positions."""
    keys = [place + generator.uniform(0, max_distance + 1) for place in range(len(words))]
    return [words[place] for place in sorted(range(len(words)), key=keys.__getitem__)]
