"""Placeholders that the translations of a corpus do not keep: dates in another order, numbers in words.

What a corpus changes is the model's work. It is then neither copied nor carried through a translation.
"""

from collections import Counter
from collections.abc import Iterable

import regex

from multihead.text.placeholder_patterns import DEFAULT, find

LETTERLESS = "letterless"
"""Stands for texts without a letter outside of their placeholders: formulas, Morse code."""
LEAST, KEPT = 10, 0.1
"""Placeholders of a kind from which on it is judged, and the share below which it is not kept."""
_LETTER = regex.compile(r"\p{L}")
_KINDS = DEFAULT - {"tag"}


def changed_kinds(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the kinds of placeholders that hardly any target keeps, and ``LETTERLESS`` if that is one."""
    all_of: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for source, target in pairs:
        spans = find(source, _KINDS)
        there = Counter(span.text for span in find(target, _KINDS)) if spans else Counter()
        for span in spans:
            all_of[span.kind] += 1
            kept[span.kind] += there[span.text] > 0
            there[span.text] -= 1
        if source and not has_letters(source, [(span.start, span.end) for span in spans]):
            all_of[LETTERLESS] += 1
            kept[LETTERLESS] += source == target
    return tuple(
        sorted(kind for kind, count in all_of.items() if count >= LEAST and kept[kind] < KEPT * count)
    )


def has_letters(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether a text has a letter outside of these spans."""
    rest, end = [], 0
    for start, stop in sorted(spans):
        rest.append(text[end:start])
        end = stop
    return any(map(_LETTER.search, [*rest, text[end:]]))
