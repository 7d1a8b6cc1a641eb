"""Kinds of placeholders that the translations of a corpus change: dates reordered, numbers in words.

The model translates these kinds; they are neither copied nor carried through as symbols.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import regex

from multihead.text.placeholder_patterns import (
    DEFAULT,
    IDENTIFIERS,
    KINDS,
    WORD,
    Kind,
    PlaceholderSpan,
    find,
)
from multihead.text.segmentation import split

LETTERLESS = "letterless"
"""Stands for texts without a letter outside of their placeholders: formulas, Morse code."""
WHOLE_LINES = "whole lines"
"""Stands for lines that look like several sentences, such as "Mon. Apr. 3", and are translated as one."""
LEAST_LINES, SHARE_OF_LINES, SPLIT_ALIKE = 30, 0.02, 0.2
"""Such lines, at least, and their share of all; the share of targets with several sentences, at most."""
LEAST, KEPT = 10, 0.1
"""Minimum number of placeholders to judge a kind by, and the share below which it is not kept."""
LEAST_SHAPE, KEPT_SHAPE = 100, 0.5
"""The same for numbers of one shape, as 13:45; more, because rare shapes are better copied than made up."""
DIGITS = "digits of "
"""Prefix of a changed shape whose digits are kept, as from 3,5 to 3.5."""
KEPT_DIGITS = 0.98
"""Share of a changed shape's numbers that must keep their digits for lost digits to be reported."""
_LETTER = regex.compile(r"\p{L}")
INTEGERS, KEPT_INTEGERS = "integers", 0.9
"""Name of whole numbers of one or two digits among what is kept, and the share from which on they are."""
RARE, KEPT_IDENTIFIERS = 2, 0.67
"""Most occurrences of rare identifiers, and the share from which on those of one form are kept."""
LEAST_WORD, KEPT_WORD, MOST_WORDS = 2, 0.5, 10_000
"""Occurrences of a word to judge it by, the share below which it is translated, the most words named."""
_WORD = regex.compile(r"(?<![\w/-])[^\W\d_]{2,40}+(?![\w/-])")
_KINDS = DEFAULT - {"tag"}
_NUMBERS: frozenset[Kind] = frozenset(("number",))
_INTEGERS: frozenset[Kind] = frozenset(("integer",))
_IDENTIFIERS: frozenset[Kind] = frozenset(("identifier",))
_WHOLE = frozenset((*KINDS, LETTERLESS))


def changed_kinds(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the kinds of placeholders that hardly any target keeps, ``LETTERLESS`` and ``WHOLE_LINES``.

    If numbers are generally kept, their shapes (``PlaceholderSpan.shape``) that most targets change are
    returned too. A changed shape whose digits are kept is also returned with the prefix ``DIGITS``.
    """
    all_of: Counter[str] = Counter()
    unchanged: Counter[str] = Counter()
    kept_digits: Counter[str] = Counter()
    lines = several = split_alike = 0
    for source, target in pairs:
        lines += 1
        if len(split(source).sentences) > 1:
            several += 1
            split_alike += len(split(target).sentences) > 1
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
    if several >= max(LEAST_LINES, SHARE_OF_LINES * lines) and split_alike < SPLIT_ALIKE * several:
        whole.add(WHOLE_LINES)
    shapes = {
        key
        for key, count in all_of.items()
        if key not in _WHOLE and count >= LEAST_SHAPE and unchanged[key] < KEPT_SHAPE * count
    }
    digits = {DIGITS + key for key in shapes if kept_digits[key] >= KEPT_DIGITS * all_of[key]}
    return tuple(sorted(whole | digits if "number" in whole else whole | shapes | digits))


def translated_words(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return the source words and identifiers that most targets lack, the most frequent ones first."""
    all_of: Counter[str] = Counter()
    unchanged: Counter[str] = Counter()
    for source, target in pairs:
        words = _words(source)
        all_of.update(words)
        unchanged.update(words & _words(target))
    frequent = ((word, count) for word, count in all_of.most_common() if count >= LEAST_WORD)
    return [word for word, count in frequent if unchanged[word] < KEPT_WORD * count][:MOST_WORDS]


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text), *(span.text for span in find(text, _IDENTIFIERS))}


def kept_identifiers(pairs: Iterable[tuple[str, str]], translated: Iterable[str]) -> list[str]:
    """Return the forms of identifiers that targets keep.

    A form is judged by its rare identifiers: what holds for them holds for those that training never saw.

    Args:
        pairs: pairs of the training.
        translated: words whose identifiers are not kept, of ``translated_words``.
    """
    without = {WORD + word for word in translated}
    forms: dict[str, str] = {}
    all_of: Counter[str] = Counter()
    unchanged: Counter[str] = Counter()
    for source, target in pairs:
        for span in find(source, _IDENTIFIERS, without):
            forms[span.text] = span.shape.removeprefix("identifier ")
            all_of[span.text] += 1
            unchanged[span.text] += span.text in target
    counts: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for text, count in all_of.items():
        if count <= RARE:
            counts[forms[text]] += 1
            kept[forms[text]] += unchanged[text] == count
    often = (form for form in IDENTIFIERS if counts[form] >= LEAST_SHAPE)
    return [form for form in often if kept[form] >= KEPT_IDENTIFIERS * counts[form]]


def keeps_integers(pairs: Iterable[tuple[str, str]]) -> bool:
    """Return whether targets keep whole numbers of one or two digits."""
    count = kept = 0
    for source, target in pairs:
        spans = find(source, _INTEGERS)
        there = Counter(span.text for span in find(target, _INTEGERS)) if spans else Counter()
        count += len(spans)
        kept += (Counter(span.text for span in spans) & there).total()
    return count >= LEAST_SHAPE and kept >= KEPT_INTEGERS * count


def not_kept(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds, shapes and words that stay in the text, of the facts about a run's data."""
    kept = data.get("kept", [])
    forms = (f"identifier {form}" for form in IDENTIFIERS if form not in kept)
    words = (WORD + word for word in data.get("translated", "").split())
    return (*data.get("changed", []), *(() if INTEGERS in kept else ("integer",)), *forms, *words)


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
