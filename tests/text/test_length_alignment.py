"""Alignment by length: against all paths spelt out, and on texts with sentences left out and joined."""

import math
import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead.text import length_alignment
from multihead.text.length_alignment import PARAGRAPHS, SENTENCES, VARIANCE, Bead, align_lengths

texts = st.lists(st.text("ab 1", max_size=9), max_size=6)


def all_paths(sources: int, targets: int) -> Iterator[list[tuple[int, int]]]:
    """Yield all sequences of steps."""
    if sources == targets == 0:
        yield []
    for left, right in SENTENCES:
        if left <= sources and right <= targets:
            for rest in all_paths(sources - left, targets - right):
                yield [*rest, (left, right)]


def cost(
    steps: Sequence[tuple[int, int]], sources: Sequence[int], targets: Sequence[int], ratio: float
) -> float:
    """Return the negative log-probability of a path, by the formulas of the paper."""
    total, i, j = 0.0, 0, 0
    for left, right in steps:
        one, other = sum(sources[i : i + left]), sum(targets[j : j + right])
        i, j = i + left, j + right
        total -= math.log(SENTENCES[left, right])
        mean = (one + other / ratio) / 2
        if left and right and mean:
            far = abs(other - one * ratio) / math.sqrt(mean * ratio * VARIANCE)
            total += min(100.0, -math.log(max(1e-44, 1 - math.erf(far / math.sqrt(2)))))
    return total


@given(st.lists(st.integers(0, 60), max_size=4), st.lists(st.integers(0, 60), max_size=4), st.floats(0.5, 2))
def test_the_path_is_the_best_of_all(sources: list[int], targets: list[int], ratio: float) -> None:
    found = length_alignment._align(
        sources, targets, SENTENCES, {}, ([0] * len(sources), [0] * len(targets)), ratio
    )
    steps = [(len(left), len(right)) for left, right in found]
    best = min(cost(one, sources, targets, ratio) for one in all_paths(len(sources), len(targets)))
    assert cost(steps, sources, targets, ratio) == pytest.approx(best, abs=1e-6)


@given(texts, texts)
@settings(max_examples=200)
def test_every_sentence_is_in_one_bead(sources: list[str], targets: list[str]) -> None:
    found = align_lengths(sources, targets)
    assert [number for left, _ in found for number in left] == list(range(len(sources)))
    assert [number for _, right in found for number in right] == list(range(len(targets)))


def right_share(beads: list[Bead], names: list[int], others: list[int]) -> float:
    """Return the share of one-to-one beads of the same sentence, among sentences that both texts have."""
    found = {(names[left[0]], others[right[0]]) for left, right in beads if len(left) == len(right) == 1}
    both = set(names) & set(others)
    return sum((name, name) in found for name in both) / len(both)


@pytest.mark.parametrize("ratio", [0.6, 1.0, 1.7])
def test_sentences_left_out_are_found(ratio: float) -> None:
    generator = random.Random(3)
    lengths = [int(generator.lognormvariate(4, 0.6)) + 5 for _ in range(307)]
    spread = [max(1, round(ratio * length + generator.gauss(0, 0.1 * length))) for length in lengths]
    kept = [[number for number in range(307) if generator.random() > 0.03] for _ in range(2)]
    sides = [
        ["x" * sizes[number] for number in side] for sizes, side in zip((lengths, spread), kept, strict=True)
    ]
    assert right_share(align_lengths(sides[0], sides[1]), *kept) > 0.85


def test_names_and_numbers_decide_where_lengths_do_not() -> None:
    words = ["Anna", "Bruno", "2024", "Chem", "77", "Dora", "Emil", "1999", "Frida", "Gustav"]
    source = [f"{word} kommt heute spät am Abend von der Arbeit nach Hause zurück" for word in words]
    target = [
        f"{word} is coming back home from work rather late this evening, I hear"
        for word in words
        if word != "Chem"
    ]
    found = align_lengths(source, target)
    assert (range(3, 4), range(3, 3)) in found
    assert sum(len(left) == len(right) == 1 for left, right in found) == 9


def test_paragraphs_are_seldom_joined_and_tags_tell_them_apart() -> None:
    source = [
        "A dog",
        "A man plays. Two children run.",
        "A dog runs.",
        "A woman reads.",
        "A man stands there.",
    ]
    target = ["Ein Hund", "Ein Mann spielt. Zwei Kinder laufen.", "Ein Hund rennt.", "Eine Frau liest."]
    assert [len(right) for _, right in align_lengths(source, target, PARAGRAPHS)] == [1, 1, 1, 1, 0]
    same = ["Eins.", "Zwei.", "Drei.", "Vier.", "Fünf."]
    for place in range(5):
        left = [2 * (number == place) for number in range(5)]
        tags = left, left[:2] + left[3:]
        found = align_lengths(same, same[:2] + same[3:], PARAGRAPHS, tags)
        single = {(one[0], other[0]) for one, other in found if len(one) == len(other) == 1}
        if place != 2:
            assert (place, place - (place > 2)) in single


def test_a_text_that_is_much_longer_is_aligned_to_its_end() -> None:
    found = align_lengths(["a"] * 3, ["b"] * 450)
    assert found[-1][1].stop == 450
    assert found[-1][0].stop == 3
