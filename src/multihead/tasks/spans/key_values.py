"""Generated questions: texts of keys with values; the question is a key, the answer its entry."""

from collections.abc import Iterator

from multihead.data.images.random_numbers import Uniform
from multihead.data.syllables import WORDS, shuffle
from multihead.errors import UserError
from multihead.system import randomness
from multihead.tasks.spans.question_tables import Question
from multihead.tasks.spans.settings import DataSettings

VALUES = range(1000)
UNANSWERABLE = 0.2
"""Share of the questions whose key is not in the text."""


def generate(data: DataSettings, count: int, seed: int) -> Iterator[Question]:
    """Yield questions about texts of one to ``data.length`` different keys. Two keys may have the same value.

    Raises:
        UserError: there are not as many keys.
    """
    if data.length >= len(WORDS):
        fact = f"texts of {data.length} different keys cannot be generated"
        raise UserError(fact, place="data.length", remedy=f"Set it to at most {len(WORDS) - 1}.")
    chance = Uniform(seed)
    for number in range(count):
        missing, *keys = shuffle(WORDS, chance)[: 2 + chance.below(data.length)]
        values = [str(int(value)) for value in chance.between(VALUES.start, VALUES.stop, len(keys))]
        entries = [f"{key}: {value}" for key, value in zip(keys, values, strict=True)]
        place = f"question {number + 1}"
        if chance.number(0, 1) < UNANSWERABLE:
            yield Question(missing, "; ".join(entries), "", None, place)
            continue
        asked = chance.below(len(keys))
        start = sum(len(entry) + 2 for entry in entries[:asked])
        yield Question(keys[asked], "; ".join(entries), entries[asked], start, place)


def test_questions(data: DataSettings) -> Iterator[Question]:
    """Yield the generated test set: the same for every ``data.seed``."""
    return generate(data, data.generated_tests, randomness.derive(0, "test questions"))
