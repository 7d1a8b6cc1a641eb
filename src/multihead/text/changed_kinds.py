"""Kinds of placeholders that the translations of a corpus change: dates reordered, numbers in words.

The model translates these kinds; they are neither copied nor carried through as symbols.
"""

from collections import Counter
from collections.abc import Iterable

import regex

from multihead.text.placeholder_patterns import DEFAULT, KINDS, Kind, PlaceholderSpan, find

LETTERLESS = "letterless"
"""Stands for texts without a letter outside of their placeholders: formulas, Morse code."""
LEAST, KEPT = 10, 0.1
"""Minimum number of placeholders to judge a kind by, and the share below which it is not kept."""
LEAST_SHAPE, KEPT_SHAPE = 100, 0.5
"""The same for numbers of one shape, as 13:45; more, because rare shapes are better copied than made up."""
DIGITS = "digits of "
"""Prefix of a changed shape whose digits are kept, as from 3,5 to 3.5."""
KEPT_DIGITS = 0.98
"""Share of a changed shape's numbers that must keep their digits for lost digits to be reported."""
_LETTER = regex.compile(r"\p{L}")
_KINDS = DEFAULT - {"tag"}
_NUMBERS: frozenset[Kind] = frozenset(("number",))
_WHOLE = frozenset((*KINDS, LETTERLESS))


def changed_kinds(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the kinds of placeholders that hardly any target keeps, perhaps including ``LETTERLESS``.

    If numbers are generally kept, their shapes (``PlaceholderSpan.shape``) that most targets change are
    returned too. A changed shape whose digits are kept is also returned with the prefix ``DIGITS``.
    """
    all_of: Counter[str] = Counter()
    unchanged: Counter[str] = Counter()
    kept_digits: Counter[str] = Counter()
    for source, target in pairs:
        spans = find(source, _KINDS)
        there = Counter(span.text for span in find(target, _KINDS)) if spans else Counter()
        for span in spans:
            for key in {span.kind, span.shape}:
                all_of[key] += 1
                unchanged[key] += there[span.text] > 0
            there[span.text] -= 1
            kept_digits[span.shape] += span.kind == "number" and not lost_digits([span], target)
        if source and not has_letters(source, [(span.start, span.end) for span in spans]):
            all_of[LETTERLESS] += 1
            unchanged[LETTERLESS] += source == target
    whole = {
        key
        for key, count in all_of.items()
        if key in _WHOLE and count >= LEAST and unchanged[key] < KEPT * count
    }
    shapes = {
        key
        for key, count in all_of.items()
        if key not in _WHOLE and count >= LEAST_SHAPE and unchanged[key] < KEPT_SHAPE * count
    }
    digits = {DIGITS + key for key in shapes if kept_digits[key] >= KEPT_DIGITS * all_of[key]}
    return tuple(sorted(whole | digits if "number" in whole else whole | shapes | digits))


def lost_digits(numbers: Iterable[PlaceholderSpan], target: str) -> list[str]:
    """Return the texts of numbers whose digits no number of a target has."""
    there = Counter(map(_digits, find(target, _NUMBERS)))
    lost = []
    for span in numbers:
        if there[_digits(span)] > 0:
            there[_digits(span)] -= 1
        else:
            lost.append(span.text)
    return lost


def _digits(number: PlaceholderSpan) -> str:
    return "".join(filter(str.isdigit, number.text))


def has_letters(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether a text has a letter outside of these spans."""
    rest, end = [], 0
    for start, stop in sorted(spans):
        rest.append(text[end:start])
        end = stop
    return any(map(_LETTER.search, [*rest, text[end:]]))
