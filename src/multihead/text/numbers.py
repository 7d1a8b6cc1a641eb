"""Number words in two languages: a corpus that needs no files, and that cannot be learned by heart.

Eight compound numerals, ``HELD_OUT``, occur nowhere in training, alone or in larger numbers: a model that
says "forty-two" must have put it together from "forty" and "two".
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from num2words import num2words

from multihead.errors import UserError

PAIRS = ("de-en", "ko-en")
HELD_OUT = (42, 24, 35, 57, 68, 73, 86, 91)
"""Every tens (20 to 90) once and every unit but nine once, so each is still met in seven other company."""
SHOWN = (42, 142, 86, 1234, 4242, 12_345, 57_024, 342_091, 700_007, 999_999)
"""The first test numbers."""

TRAIN, VALID, TEST = 20_000, 500, 1000
_DIGITS = (3, 4, 5, 6)

Pair = tuple[str, str]


@dataclass(frozen=True)
class NumberCorpus:
    """Pairs of number words; no number is in two parts.

    Attributes:
        pair: the languages, e.g. "de-en".
        train: without any numeral of ``HELD_OUT``.
        valid: to choose by.
        test: to report; begins with ``SHOWN``.
    """

    pair: str
    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def make(pair: str, seed: int) -> NumberCorpus:
    """Make the corpus: 20,000 pairs to train on, 500 to validate, 1,000 to test, from zero to 999,999.

    Raises:
        UserError: a pair of languages that is not in ``PAIRS``.
    """
    if pair not in PAIRS:
        fact = f"no number words for {pair!r}"
        raise UserError(fact, place="pair", remedy=f"There are {' and '.join(PAIRS)}.")
    unseen = [_said(number, pair) for number in HELD_OUT]
    numbers = _numbers(random.Random(seed))
    test = {number: _said(number, pair) for number in SHOWN}
    while len(test) < TEST:
        number = next(numbers)
        test[number] = _said(number, pair)
    valid: dict[int, Pair] = {}
    while len(valid) < VALID:
        if (number := next(numbers)) not in test:
            valid[number] = _said(number, pair)
    train: dict[int, Pair] = {}
    for number in chain(range(100), numbers):
        if number not in test and number not in valid:
            source, target = _said(number, pair)
            if not any(left in source or right in target for left, right in unseen):
                train[number] = source, target
        if len(train) == TRAIN:
            break
    return NumberCorpus(pair, list(train.values()), list(valid.values()), list(test.values()))


def write_files(corpus: NumberCorpus, folder: Path) -> None:
    """Write train.de, train.en, valid.de, ... into a folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, pairs in {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}.items():
        for language, lines in zip(corpus.pair.split("-"), zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{part}.{language}").write_text(text, encoding="utf-8", newline="\n")


def _numbers(chance: random.Random) -> Iterator[int]:
    """Yield numbers of three to six digits, as many of each length."""
    while True:
        digits = chance.choice(_DIGITS)
        yield chance.randrange(10 ** (digits - 1), 10**digits)


def _said(number: int, pair: str) -> Pair:
    source, target = pair.split("-")
    return num2words(number, lang=source), num2words(number, lang=target)
