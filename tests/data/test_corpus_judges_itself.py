"""Verdicts on the pairs of a corpus: each kind of fault is found, and sound pairs stay."""

import math
import random
from collections import Counter, defaultdict
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead.data.cleaning import ngrams, surface
from multihead.data.cleaning.lexicon import EXPLAINED, ITERATIONS, ConditionalLexicon, Side
from multihead.data.cleaning.ngrams import ORDER, PRIOR, CharacterModel, LineNgrams
from multihead.data.cleaning.sample import doubts
from multihead.data.cleaning.shifts import MOST_ODDS, SWITCH, line_shifts
from multihead.data.cleaning.verdicts import REASONS, judge

Pair = tuple[str, str]
COUNT = 1009


def words(syllables: str, count: int, seed: int) -> list[str]:
    """Return made-up words of a made-up language."""
    generator = random.Random(seed)
    parts = syllables.split()
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(generator.choices(parts, k=generator.choice((2, 3))))] = None
    return list(found)


ONE = words("ba ku ti mo re sa no li", 89, 1)
OTHER = words("schrei zung wald pfer gart heim stoff", 89, 2)
THIRD = words("que oux ait esc yve ghi", 89, 3)


def sound(count: int = COUNT, seed: int = 5) -> list[Pair]:
    """Return pairs of sentences that translate each other word by word."""
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        chosen = generator.choices(range(len(ONE)), k=generator.randint(4, 11))
        found.append((" ".join(ONE[n] for n in chosen), " ".join(OTHER[n] for n in reversed(chosen))))
    return found


def verdicts(pairs: list[Pair]) -> list[str]:
    return [REASONS[number] if number >= 0 else "" for number in judge(pairs).reasons.tolist()]


def test_sound_pairs_stay() -> None:
    assert Counter(verdicts(sound())) == {"": COUNT}


def test_each_fault_is_found_with_its_reason_and_nothing_else_is_dropped() -> None:
    pairs, generator = sound(), random.Random(7)
    expected = [""] * COUNT
    for number in range(100, 131):  # each source with the next line's target
        pairs[number] = pairs[number][0], pairs[number + 1][1] if number < 130 else pairs[100][1]
        expected[number] = "misaligned"
    foreign = [" ".join(generator.choices(THIRD, k=9)) for _ in range(2)]
    faults = {
        200: (pairs[200][1], pairs[200][0], "swapped"),
        300: (pairs[300][0], foreign[0], "language"),
        310: (foreign[1], pairs[310][1], "language"),
        400: (pairs[400][0], "Xq7$#kZ!!09vvQ%&/(==?WdR*+~#'-_:;<>|", "noise"),
        410: (pairs[410][0], " ".join([OTHER[0]] * 8), "noise"),
        500: (pairs[500][0], "хорошая погода сегодня утром", "script"),
        600: (pairs[600][0], " ", "empty"),
        700: (pairs[700][0], pairs[800][1], "unlikely"),
        900: (pairs[899][0].replace(" ", "  "), pairs[899][1] + " ", "duplicate"),
    }
    for number, (source, target, reason) in faults.items():
        pairs[number], expected[number] = (source, target), reason
    found = verdicts(pairs)
    for edge in (100, 130):  # an edge of the passage may be found by its words instead
        assert found[edge] in ("misaligned", "unlikely")
        expected[edge] = found[edge]
    assert {n: (a, b) for n, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b} == {}


@pytest.mark.parametrize("start", [0, 300])
def test_a_shift_of_nearly_the_whole_corpus_is_found(start: int) -> None:
    pairs = sound()
    targets = [target for _, target in pairs]
    del targets[start]
    mixed = [(source, target) for (source, _), target in zip(pairs, [*targets, targets[0]], strict=True)]
    found = verdicts(mixed)
    assert sum(reason == "misaligned" for reason in found[start + 2 :]) > 0.98 * (COUNT - start - 2)
    assert sum(bool(reason) for reason in found[: max(0, start - 2)]) <= 0.01 * start


def test_a_sample_warns_of_what_is_wrong_and_only_then() -> None:
    pairs = sound()
    assert doubts(iter(pairs), len(pairs)) == []
    crossed = [(b, a) if n % 20 == 0 else (a, b) for n, (a, b) in enumerate(pairs)]
    (line,) = doubts(iter(crossed), len(crossed))
    assert "5 %" in line
    assert "are swapped" in line


@pytest.mark.parametrize("kind", ["shuffled", "sorted", "labels at random"])
def test_sides_that_have_nothing_to_do_with_each_other_are_doubted(kind: str) -> None:
    sources, targets = ([pair[side] for pair in sound()] for side in (0, 1))
    if kind == "labels at random":
        targets = random.Random(2).choices(["good", "bad"], k=COUNT)
    elif kind == "sorted":
        targets.sort()
    else:
        random.Random(2).shuffle(targets)
    pairs = list(zip(sources, targets, strict=True))
    assert "tell nothing of those of the target" in doubts(iter(pairs), COUNT)[-1]
    assert judge(pairs).unrelated


def test_labels_that_follow_from_a_few_words_are_related() -> None:
    pairs = [(source, "good" if ONE[3] in source or ONE[5] in source else "bad") for source, _ in sound()]
    assert doubts(iter(pairs), COUNT) == []
    assert not judge(pairs).unrelated


@pytest.mark.parametrize("count", [211, 1009])
def test_a_script_of_thousands_of_characters_is_judged(count: int) -> None:
    hanzi = [chr(0x4E00 + number) for number in range(3001)]
    generator = random.Random(4)
    drawn = [[generator.randrange(3001) for _ in range(generator.randint(4, 19))] for _ in range(count)]
    pairs = [
        ("".join(hanzi[n] for n in line), " ".join(OTHER[n % 89] for n in reversed(line))) for line in drawn
    ]
    found = judge(pairs)
    assert not found.unrelated
    assert np.mean(found.reasons >= 0) < 0.05
    judge([(target, source) for source, target in pairs])


@settings(max_examples=13, deadline=None)
@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=29))
def test_any_text_is_judged(pairs: list[Pair]) -> None:
    many = (pairs * 211)[:211]
    assert len(judge(many).reasons) == 211
    doubts(iter(many), len(many))


def spelt(number: int) -> str:
    """Return a number below a million in words."""
    ones = ["nul", "un", "dei", "tri", "kar", "pen", "ses", "set", "ok", "nov"]
    if number >= 1000:
        return f"{spelt(number // 1000)} mil" + (f" {spelt(number % 1000)}" if number % 1000 else "")
    hundreds, tens, one = number // 100, number // 10 % 10, number % 10
    parts = [f"{ones[hundreds]}ent"] * bool(hundreds) + [f"{ones[tens]}dek"] * bool(tens)
    return " ".join([*parts, ones[one]] if one or not number else parts)


def test_digits_are_of_no_language() -> None:
    squares = [(str(number), str(number * number)) for number in range(3000)]
    reasons = judge(squares).reasons
    assert REASONS.index("swapped") not in reasons
    assert (reasons >= 0).mean() < 0.01
    cubes = [(f"cube of {one}", f"Würfel {int(one) ** 3}") for one, _ in squares]
    cubes[77] = cubes[77][::-1]
    assert np.flatnonzero(judge(cubes).reasons == REASONS.index("swapped")).tolist() == [77]


@pytest.mark.parametrize("kind", ["counted", "drawn", "of any length"])
@pytest.mark.parametrize("flip", [False, True])
def test_numbers_and_their_spelt_forms_are_sound(kind: str, flip: bool) -> None:
    generator = random.Random(6)
    draw = {
        "counted": lambda number: number,
        "drawn": lambda _: generator.randrange(10**6),
        "of any length": lambda _: int(10 ** generator.uniform(0, 6)),
    }[kind]
    pairs = list({str(n): spelt(n) for n in map(draw, range(997))}.items())
    pairs = [(b, a) if flip else (a, b) for a, b in pairs]
    # "nul" is in no other pair.
    assert sum(map(bool, verdicts(pairs))) <= 1
    placed = generator.sample(range(len(pairs)), 31)
    mixed = list(pairs)
    for number, other in zip(placed, [*placed[1:], placed[0]], strict=True):
        mixed[number] = pairs[number][0], pairs[other][1]
    found = verdicts(mixed)
    assert sum(bool(found[number]) for number in placed) > len(placed) // 2


@pytest.mark.parametrize("rule", ["number", "placeholder"])
def test_numbers_and_placeholders_count_only_where_the_corpus_agrees(rule: str) -> None:
    mark = "{}" if rule == "number" else "{{name{}}}"
    agreed = [
        (f"{a} {mark.format(n + 10)}", f"{b} {mark.format(n + 10)}") for n, (a, b) in enumerate(sound(211))
    ]
    agreed[13] = agreed[13][0], agreed[13][1].replace("23", "99")
    reason = f"{rule}s"
    assert [n for n, found in enumerate(verdicts(agreed)) if found == reason] == [13]
    free = [(a, b.replace("1", "2")) if n % 2 else (a, b) for n, (a, b) in enumerate(agreed)]
    assert reason not in verdicts(free)


def test_a_twin_of_a_dropped_pair_is_no_duplicate() -> None:
    pairs = sound(503)
    swapped = pairs[3][1], pairs[3][0]
    found = judge([*pairs, swapped, swapped])
    assert [REASONS[n] for n in found.reasons[-2:].tolist()] == ["swapped", "swapped"]


# --- parts against independent oracles ------------------------------------------------------------------


def test_the_path_of_shifts_is_the_best_of_all_paths() -> None:
    generator = np.random.default_rng(3)
    states, length = (0, 1, -1), 7
    for _ in range(20):
        odds = generator.normal(0, 6, (3, length))
        clipped = np.clip(odds, -MOST_ODDS, MOST_ODDS)

        def score(path: tuple[int, ...], table: np.ndarray = clipped) -> float:
            whole = (0, *path, 0)
            switches = sum(SWITCH for a, b in pairwise(whole) if a != b)
            return float(sum(table[states.index(s), n] for n, s in enumerate(path))) - switches

        best = max(product(states, repeat=length), key=score)
        assert score(tuple(line_shifts(*odds).tolist())) == pytest.approx(score(best))


def test_the_lexicon_is_that_of_model_1_spelt_out() -> None:
    pairs = [([0, 1], [0, 2]), ([1], [2]), ([2, 0, 1], [1, 0, 2]), ([2], [1])]
    source, target = (Side.of([pair[n] for pair in pairs], 3) for n in (0, 1))
    table: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(ITERATIONS):
        expected: dict[tuple[int, int], float] = defaultdict(float)
        for first, second in pairs:
            for word in second:
                cells = [(-1, word), *((one, word) for one in first)]
                whole = sum(table[cell] for cell in cells)
                for cell in cells:
                    expected[cell] += table[cell] / whole
        totals: dict[int, float] = defaultdict(float)
        for (one, _), value in expected.items():
            totals[one] += value
        table = defaultdict(float, {cell: value / (totals[cell[0]] + 1) for cell, value in expected.items()})
    counts = Counter(word for _, second in pairs for word in second)
    unigram = {word: (counts[word] + 1) / (counts.total() + 3) for word in range(3)}
    gains, shares = ConditionalLexicon(source, target).gain(source, target)
    for (first, second), gain, share in zip(pairs, gains, shares, strict=True):
        ratios = []
        for word in second:
            chance = sum(table[one, word] for one in (-1, *first)) / (1 + len(first))
            ratios.append(EXPLAINED * chance / unigram[word] + 1 - EXPLAINED)
        assert gain == pytest.approx(sum(map(math.log, ratios)) / len(ratios), rel=1e-5)
        assert share == pytest.approx(sum(ratio > 3 for ratio in ratios) / len(ratios))


def test_a_character_model_is_interpolated_counts_without_the_line_itself() -> None:
    texts = ["abab", "abc", "b"]
    lines = LineNgrams(texts, bits=16)
    every = np.ones(3, dtype=bool)
    counts: Counter[str] = Counter()
    contexts: Counter[str] = Counter()
    for text in texts:
        padded = "\n" * (ORDER - 1) + text + "\n"
        for end in range(ORDER - 1, len(padded)):
            for order in range(ORDER):
                counts[f"{order}{padded[end - order : end + 1]}"] += 1
                contexts[f"{order}{padded[end - order : end]}"] += 1
    kinds = len({"a", "b", "c", "\n"})
    for own in (False, True):
        scores = CharacterModel(lines).score(lines, every if own else None)
        for text, score in zip(texts, scores, strict=True):
            padded = "\n" * (ORDER - 1) + text + "\n"
            total = 0.0
            for end in range(ORDER - 1, len(padded)):
                chance = 1 / (kinds + 2)
                for order in range(ORDER):
                    count = counts[f"{order}{padded[end - order : end + 1]}"] - own
                    of = contexts[f"{order}{padded[end - order : end]}"] - own
                    chance = (count + PRIOR * chance) / (of + PRIOR)
                total += math.log(chance)
            assert score == pytest.approx(total / (len(text) + 1))


def test_repetition_is_noise_among_words_and_ordinary_among_symbols() -> None:
    ordinary = [
        (f"a line of words number{i} and more", f"eine zeile von worten zahl{i} mehr") for i in range(211)
    ]
    repeated = [*ordinary, ("a line of words", "no no no no no yes")]
    assert surface.noisy(repeated).nonzero()[0].tolist() == [211]
    digits = [
        (str(i), " ".join(["zero", "one", "two", "three"][int(c) % 4] for c in str(i)))
        for i in range(20000, 20211)
    ]
    assert not surface.noisy([*digits, ("44448", "zero zero zero zero two")]).any()


def test_near_duplicates_ignore_case_spaces_and_final_punctuation() -> None:
    pairs = [("Ja.", "Yes"), ("ja", "YES !"), ("Ja", "Yes, 2"), ("...", "Yes"), ("ja  .", "yes")]
    assert list(surface.near_duplicates(pairs)) == [0, 0, 2, 3, 0]


def test_buckets_grow_with_the_text_up_to_a_limit() -> None:
    assert LineNgrams(["a" * 100]).bits < LineNgrams(["a" * 10_000]).bits <= ngrams.MOST_BITS


def transliterated(pairs: int, seed: int) -> list[tuple[str, str]]:
    """Return words of one alphabet, and their spelling in another."""
    chance = random.Random(seed)
    letters = "абвгдежзиклмнопрстуфхц"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(pairs)]
    return [(word, word.translate(str.maketrans(letters, "abvgdeZziklmnoprstufhC"))) for word in words]


def test_spelt_words_are_judged_by_their_characters() -> None:
    pairs = transliterated(2003, seed=7)
    moved = range(11, 2003, 20)
    targets = [target for _, target in pairs]
    for number, other in zip(moved, [*moved[1:], moved[0]], strict=True):
        targets[number] = pairs[other][1]
    found = judge([(source, target) for (source, _), target in zip(pairs, targets, strict=True)])
    dropped = set(np.flatnonzero(found.reasons >= 0).tolist())
    assert len(dropped & {*moved}) > 0.9 * len(moved)
    assert len(dropped - {*moved}) < 0.01 * len(pairs)
