"""A generated parallel corpus of number words, for the quickstart.

The eight compound numerals of ``HELD_OUT`` never occur in training, alone or within a larger number. A model
that outputs "forty-two" has composed it from "forty" and "two" and has not memorised it.
"""

import random
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from num2words import CONVERTER_CLASSES

from multihead.errors import UserError

PAIRS = ("de-en", "ko-en")
HELD_OUT = (42, 24, 35, 57, 68, 73, 86, 91)
"""Each ten (20 to 90) and each unit but 9 once, so training has each of them in at least seven others."""
SAMPLES = (42, 142, 86, 1234, 4242, 12_345, 57_024, 342_091, 700_007, 999_999)
"""The first numbers of the test set."""

TRAIN, VALID, TEST = 20_000, 500, 1000
_DIGITS = (3, 4, 5, 6)
LARGEST = 10**6

Pair = tuple[str, str]


@dataclass(frozen=True)
class NumberCorpus:
    """Pairs of number words in three disjoint splits.

    Attributes:
        pair: the languages, e.g. "de-en".
        train: training set, without any numeral of ``HELD_OUT``.
        valid: validation set.
        test: test set; begins with ``SAMPLES``.
    """

    pair: str
    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def make(pair: str, seed: int) -> NumberCorpus:
    """Return the corpus: 20,000 training, 500 validation and 1,000 test pairs of numbers from 0 to 999,999.

    Raises:
        UserError: the language pair is not in ``PAIRS``.
    """
    if pair not in PAIRS:
        fact = f"no number words for {pair!r}"
        raise UserError(fact, place="pair", remedy=f"Choose {' or '.join(PAIRS)}.")
    unseen = [_in_words(number, pair) for number in HELD_OUT]
    numbers = _numbers(random.Random(seed))
    test = {number: _in_words(number, pair) for number in SAMPLES}
    while len(test) < TEST:
        number = next(numbers)
        test[number] = _in_words(number, pair)
    valid: dict[int, Pair] = {}
    while len(valid) < VALID:
        if (number := next(numbers)) not in test:
            valid[number] = _in_words(number, pair)
    train: dict[int, Pair] = {}
    for number in chain(range(100), numbers):
        if number not in test and number not in valid:
            source, target = _in_words(number, pair)
            if not any(left in source or right in target for left, right in unseen):
                train[number] = source, target
        if len(train) == TRAIN:
            break
    return NumberCorpus(pair, list(train.values()), list(valid.values()), list(test.values()))


def write_files(corpus: NumberCorpus, folder: Path) -> None:
    """Write train.de, train.en, valid.de, ... into a folder, creating it if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, pairs in {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}.items():
        for language, lines in zip(corpus.pair.split("-"), zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{part}.{language}").write_text(text, encoding="utf-8", newline="\n")


def _numbers(generator: random.Random) -> Iterator[int]:
    """Yield random numbers of three to six digits, all four lengths equally often."""
    while True:
        digits = generator.choice(_DIGITS)
        yield generator.randrange(10 ** (digits - 1), 10**digits)


def _in_words(number: int, pair: str) -> Pair:
    source, target = pair.split("-")
    return _converter(source).to_cardinal(number), _converter(target).to_cardinal(number)


@cache
def _converter(language: str) -> Any:
    """The converter of num2words without its larger words, all of which it would compare with each number."""
    converter = copy(CONVERTER_CLASSES[language])
    converter.cards = type(converter.cards)(
        (value, word) for value, word in converter.cards.items() if value <= LARGEST
    )
    return converter
