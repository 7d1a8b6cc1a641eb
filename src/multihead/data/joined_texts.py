"""Long documents made of short labelled texts; a document has the label of most of its texts.

A task for attention to long texts: no part of a document decides its label.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator

from multihead.data.listops import below
from multihead.errors import UserError
from multihead.system import randomness

MAJORITY = 2 / 3
"""Minimum share of a document's texts that have its label; drawn for each document, up to 1."""
HEADER = "label\tdocument\n"

Labelled = tuple[str, str]
"""A label and a text."""


def join_texts(texts: Iterable[Labelled], shortest: int, longest: int, seed: int) -> Iterator[Labelled]:
    """Yield documents of ``shortest`` to ``longest`` texts, until the texts of a label are used up.

    Every text is used at most once, and every label has the same number of documents.

    Raises:
        UserError: the texts have fewer than two labels.
    """
    numbers = random.Random(randomness.derive(seed, "joined texts"))
    pools: dict[str, list[str]] = defaultdict(list)
    for label, text in texts:
        pools[label].append(" ".join(text.split()))
    if len(pools) < 2:
        fact = f"{len(pools)} label, but texts of two are needed"
        raise UserError(fact, place="multihead data make", remedy="Check the file's labels.")
    labels = sorted(pools)
    for label in labels:
        _shuffle(pools[label], numbers)
    number = 0
    while True:
        majority = labels[number % len(labels)]
        others = [label for label in labels if label != majority]
        size = shortest + below(numbers, longest - shortest + 1)
        share = MAJORITY + (1 - MAJORITY) * numbers.random()
        text_labels = [
            majority if place < share * size else others[below(numbers, len(others))] for place in range(size)
        ]
        if any(text_labels.count(label) > len(pools[label]) for label in labels):
            return
        _shuffle(text_labels, numbers)
        yield majority, " ".join(pools[label].pop() for label in text_labels)
        number += 1


def tsv_lines(documents: Iterable[Labelled]) -> str:
    """Return documents as a TSV file with the columns label and document."""
    return HEADER + "".join(f"{label}\t{text}\n" for label, text in documents)


# Not random.shuffle: its order changes between versions of Python.
def _shuffle(items: list[str], numbers: random.Random) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = below(numbers, last + 1)
        items[last], items[other] = items[other], items[last]
