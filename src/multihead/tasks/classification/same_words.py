"""Generated pairs of texts, labelled by whether both have the same words in a different order."""

from collections.abc import Iterator

from multihead.data.images.random_numbers import Uniform
from multihead.data.syllables import WORDS, shuffle
from multihead.errors import UserError
from multihead.system import randomness
from multihead.tasks.classification.settings import DataSettings
from multihead.text.tables import Example

LABELS = ("other", "same")
MOST = len(WORDS) // 2
"""Maximum length of a text in words: all of them can be replaced."""


def generate(data: DataSettings, count: int, seed: int) -> Iterator[Example]:
    """Yield pairs of ``data.length`` different words. Half of the second texts have the words of the first.

    In the other half, one word or more is replaced by a word that the first text lacks.

    Raises:
        UserError: the word list is too short for this length.
    """
    if data.length > MOST:
        fact = f"texts of {data.length} different words cannot be generated"
        raise UserError(fact, place="data.length", remedy=f"Set it to at most {MOST}.")
    chance = Uniform(seed)
    for number in range(count):
        label = chance.below(len(LABELS))
        words = shuffle(WORDS, chance)
        first, others = words[: data.length], words[data.length :]
        replaced = 0 if label else 1 + chance.below(data.length)
        second = shuffle([*others[:replaced], *first[replaced:]], chance)
        yield Example(" ".join(first), LABELS[label], f"pair {number + 1}", " ".join(second))


def training_pairs(data: DataSettings) -> Iterator[Example]:
    """Yield the pairs to train and validate on."""
    return generate(data, data.generated, randomness.derive(data.seed, "training"))


def test_pairs(data: DataSettings) -> Iterator[Example]:
    """Yield the generated test set: the same for every ``data.seed``."""
    return generate(data, data.generated_tests, randomness.derive(0, "test pairs"))
