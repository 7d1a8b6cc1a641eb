import math
from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from tables import BOS, EOS, PAD, A, B, Table, log_p, near, sources
from torch import Tensor

from multihead.search.constraints import Banned
from multihead.search.request import LengthLimits
from multihead.search.sampling import draw, sample, uniform

ONE = LengthLimits(max_length=1, min_length=1)


class Fixed(Table):
    """Always the same distribution."""

    probabilities = (0.08, 0.4, 0.3, 0.02, 0.2)

    def logits(self, number: int, history: Sequence[int]) -> Tensor:
        return torch.tensor(self.probabilities).log() + 3.0


def first_tokens(count: int = 4001, **settings: float) -> Counter[int]:
    """The first token drawn for each of many sentences; an empty output counts as its end."""
    found = sample(
        Fixed(),
        sources(*[1] * count),
        [[BOS]] * count,
        eos_id=EOS,
        seed=1,
        limits=LengthLimits(max_length=1),
        **settings,  # type: ignore[arg-type]
    )
    return Counter(h.tokens[0] if h.tokens else EOS for (h,) in found)


def assert_drawn_from(counts: Counter[int], probabilities: dict[int, float]) -> None:
    """Pearson's chi-square against the 0.9999 quantile (Wilson and Hilferty 1931), and the support."""
    assert set(counts) == set(probabilities)
    draws, total = sum(counts.values()), sum(probabilities.values())
    chi_square = sum(
        (counts[token] - draws * p / total) ** 2 / (draws * p / total) for token, p in probabilities.items()
    )
    freedom = max(1, len(probabilities) - 1)
    assert chi_square < freedom * (1 - 2 / (9 * freedom) + 3.72 * math.sqrt(2 / (9 * freedom))) ** 3


def test_tokens_are_drawn_with_the_models_probabilities() -> None:
    assert_drawn_from(first_tokens(), dict(enumerate(Fixed.probabilities)))


def test_the_bound_on_frequencies_can_fail() -> None:
    wrong = {PAD: 0.08, A: 0.36, B: 0.34, BOS: 0.02, EOS: 0.2}
    with pytest.raises(AssertionError):
        assert_drawn_from(first_tokens(), wrong)


def test_temperature_is_an_exponent_of_the_probabilities() -> None:
    sharpened = {token: p ** (1 / 0.5) for token, p in enumerate(Fixed.probabilities)}
    assert_drawn_from(first_tokens(temperature=0.5), sharpened)


def test_a_low_temperature_is_greedy() -> None:
    assert set(first_tokens(211, temperature=0.01)) == {A}


@pytest.mark.parametrize("more", [{}, {"top_k": 3}, {"top_p": 0.9}])
def test_a_temperature_too_low_to_divide_by_is_greedy(more: dict[str, float]) -> None:
    for temperature in (1e-30, 1e-38, 1e-45, 1e-300, 5e-324):
        assert set(first_tokens(23, temperature=temperature, **more)) == {A}


def test_a_temperature_too_high_to_divide_by_is_uniform_over_allowed_tokens() -> None:
    logits_RV = torch.tensor([[0.08, 0.4, 0.0, 0.02, 0.2]]).log().expand(997, 5)
    uniform_R = uniform(torch.arange(997), 0)
    drawn = Counter(draw(logits_RV, uniform_R, temperature=1e300).tolist())
    assert_drawn_from(drawn, dict.fromkeys([0, 1, 3, 4], 0.25))


def test_top_k_draws_from_the_k_most_probable() -> None:
    assert_drawn_from(first_tokens(top_k=3), {A: 0.4, B: 0.3, EOS: 0.2})


@pytest.mark.parametrize(
    ("top_p", "support"), [(0.05, {A}), (0.4001, {A, B}), (0.71, {A, B, EOS}), (0.95, {A, B, EOS, PAD})]
)
def test_top_p_draws_from_the_smallest_set_that_has_this_probability(top_p: float, support: set[int]) -> None:
    assert_drawn_from(first_tokens(top_p=top_p), {token: Fixed.probabilities[token] for token in support})


def test_top_p_counts_within_the_top_k() -> None:
    # Of {A, B} alone A has 4/7, which is enough for 0.5.
    assert set(first_tokens(211, top_k=2, top_p=0.5)) == {A}


def test_forbidden_tokens_are_never_drawn() -> None:
    count = 997
    found = sample(
        Fixed(),
        sources(*[1] * count),
        [[BOS]] * count,
        eos_id=EOS,
        seed=2,
        limits=ONE,
        constraints=[Banned([A, BOS])],
    )
    assert_drawn_from(Counter(h.tokens[0] for (h,) in found), {PAD: 0.08, B: 0.3})


def test_a_sample_depends_on_the_seed_and_its_own_number_only() -> None:
    numbers = list(range(19))

    def run(numbers: Sequence[int], seed: int) -> list[list[tuple[int, ...]]]:
        found = sample(
            Table(),
            sources(*numbers),
            [[BOS]] * len(numbers),
            eos_id=EOS,
            seed=seed,
            numbers=numbers,
            samples=3,
            limits=LengthLimits(max_length=7),
            distinct=False,
        )
        return [[h.tokens for h in hypotheses] for hypotheses in found]

    together = run(numbers, 1)
    assert together == [run([n], 1)[0] for n in numbers]
    assert together == run(numbers[::-1], 1)[::-1]
    assert together != run(numbers, 2)


def test_a_sentences_samples_are_distinct_and_sorted() -> None:
    (found,) = sample(
        Table(), sources(3), [[BOS]], eos_id=EOS, seed=1, samples=53, limits=LengthLimits(max_length=4)
    )
    assert 13 < len(found) < 53
    assert len({h.tokens for h in found}) == len(found)
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    (all_of_them,) = sample(
        Table(),
        sources(3),
        [[BOS]],
        eos_id=EOS,
        seed=1,
        samples=53,
        limits=LengthLimits(max_length=4),
        distinct=False,
    )
    assert len(all_of_them) == 53
    assert {h.tokens for h in all_of_them} == {h.tokens for h in found}


def test_a_samples_log_probability_is_the_models_own_at_any_temperature() -> None:
    table = Table()
    (found,) = sample(
        table,
        sources(3),
        [[BOS, B]],
        eos_id=EOS,
        seed=7,
        samples=11,
        temperature=3.0,
        top_k=4,
        limits=LengthLimits(max_length=5),
    )
    for h in found:
        assert near(h.log_probability, log_p(table, 3, [BOS, B], [*h.tokens[1:], EOS]))


def test_the_random_numbers_are_splitmix64s() -> None:
    # The first outputs of the published generator for seed 1234567 (Vigna's splitmix64.c).
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    key = torch.tensor([1234567])
    assert [float(uniform(key, step)) for step in range(3)] == [(x >> 40) / 2**24 for x in expected]


def test_the_random_numbers_fill_the_unit_interval_evenly() -> None:
    numbers = uniform(torch.arange(9973), 0)
    assert float(numbers.min()) >= 0
    assert float(numbers.max()) < 1
    counts = Counter((numbers * 10).long().tolist())
    assert_drawn_from(counts, dict.fromkeys(range(10), 0.1))
