"""Artificial words of one syllable, for generated texts."""

from collections.abc import Sequence

import numpy as np

from multihead.data.images.random_numbers import Uniform

WORDS = tuple(consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou")
"""70 words, such as "ba" and "zu"."""


def shuffle(words: Sequence[str], chance: Uniform) -> list[str]:
    """Return the words in random order."""
    return [words[place] for place in np.argsort(chance.between(0, 1, len(words)), kind="stable")]
