"""A generated parallel corpus of number words, for the quickstart.

The eight compound numerals of ``HELD_OUT`` never occur in training, alone or within a larger number. A model
that outputs "forty-two" has composed it from "forty" and "two" and has not memorised it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from multihead.errors import UserError

PAIRS = ("de-en", "ko-en")
HELD_OUT = (42, 24, 35, 57, 68, 73, 86, 91)
"""Each ten (20 to 90) and each unit but 9 once, so training has each of them in at least seven others."""
SAMPLES = (42, 142, 86, 1234, 4242, 12_345, 57_024, 342_091, 700_007, 999_999)
"""The first numbers of the test set."""

TRAIN, VALID, TEST = 20_000, 500, 1000
_DIGITS = (3, 4, 5, 6)

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
    source, target = (WORDS[language] for language in pair.split("-"))
    return source(number), target(number)


_ENGLISH = (  # noqa: SIM905
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
).split()
_GERMAN = (  # noqa: SIM905
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
).split()
"""The words of 0 to 19, then the tens."""


def _english(number: int) -> str:
    if number < 20:
        return _ENGLISH[number]
    if number < 100:
        return _ENGLISH[18 + number // 10] + (f"-{_ENGLISH[number % 10]}" if number % 10 else "")
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = number % unit
    joint = ", " if rest >= 100 else " and "
    return f"{_english(number // unit)} {name}" + (joint + _english(rest) if rest else "")


def _german(number: int, *, final: bool = True) -> str:
    if number < 20:
        return "eins" if number == 1 and final else _GERMAN[number]
    if number < 100:
        return (f"{_GERMAN[number % 10]}und" if number % 10 else "") + _GERMAN[18 + number // 10]
    unit, name = (1000, "tausend") if number >= 1000 else (100, "hundert")
    rest = _german(number % unit, final=final) if number % unit else ""
    return _german(number // unit, final=False) + name + rest


def _korean(number: int) -> str:
    if number >= 10_000:
        high = "" if number < 20_000 else _korean(number // 10_000)
        return f"{high}만" + (f" {_korean(number % 10_000)}" if number % 10_000 else "")
    digits = zip(map(int, f"{number:04}"), ("천", "백", "십", ""), strict=True)
    words = (
        ("" if digit == 1 and unit else " 일이삼사오육칠팔구"[digit]) + unit
        for digit, unit in digits
        if digit
    )
    return "".join(words) or "영"


WORDS = {"de": _german, "en": _english, "ko": _korean}
