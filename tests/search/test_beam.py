import math
from collections.abc import Sequence
from typing import Literal

import pytest
import torch
from tables import BOS, EOS, PAD, A, B, Output, Table, TableState, brute_force, log_p, near, sources
from torch import Tensor

from multihead.batch import Source
from multihead.errors import UserError
from multihead.search.beam import beam
from multihead.search.constraints import Banned, NoRepeatedNgram
from multihead.search.greedy import greedy
from multihead.search.hypotheses import Hypothesis
from multihead.search.request import LengthLimits

WIDE = 4**3 * 5


def same(found: list[Hypothesis], expected: list[Output]) -> None:
    assert [h.tokens for h in found] == [output.tokens for output in expected]
    for hypothesis, output in zip(found, expected, strict=True):
        assert near(hypothesis.log_probability, output.log_probability)
        assert near(hypothesis.score, output.score)
        assert hypothesis.finished == output.finished


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0, -0.5])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_beam_wide_enough_finds_the_n_best_of_brute_force(seed: int, alpha: float) -> None:
    table = Table(seed)
    found = beam(
        table,
        sources(7, 11),
        [[BOS], [BOS]],
        eos_id=EOS,
        beam_size=WIDE,
        alpha=alpha,
        n_best=13,
        limits=LengthLimits(max_length=3),
    )
    for number, hypotheses in zip((7, 11), found, strict=True):
        same(hypotheses, brute_force(table, number, [BOS], longest=3, alpha=alpha)[:13])


@pytest.mark.parametrize("seed", range(3))
def test_length_ngram_and_prefix_constraints_agree_with_brute_force(seed: int) -> None:
    table = Table(seed)
    prefixes = [[BOS, A], [BOS], [BOS, B, B]]
    found = beam(
        table,
        sources(2, 3, 5),
        prefixes,
        eos_id=EOS,
        beam_size=3**5,
        alpha=1.0,
        n_best=5,
        limits=LengthLimits(max_length=4, min_length=3),
        constraints=[Banned([PAD, BOS]), NoRepeatedNgram(2)],
    )
    for number, prefix, hypotheses in zip((2, 3, 5), prefixes, found, strict=True):
        best = brute_force(table, number, prefix, longest=4, shortest=3, alpha=1.0, allowed=(A, B), ngram=2)
        same(hypotheses, best[:5])


def test_constraints_do_not_change_log_probabilities() -> None:
    table = Table(5)
    (found,) = beam(
        table,
        sources(3),
        [[BOS, A]],
        eos_id=EOS,
        constraints=[Banned([B])],
        limits=LengthLimits(max_length=7),
    )
    assert near(found[0].log_probability, log_p(table, 3, [BOS, A], [*found[0].tokens[1:], EOS]))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
def test_a_beam_of_one_is_greedy_search(alpha: float) -> None:
    source, limits = sources(*range(41)), LengthLimits(max_extra=5)
    prefixes = [[BOS, A, B][: 1 + n % 3] for n in range(41)]
    one = beam(Table(), source, prefixes, eos_id=EOS, alpha=alpha, limits=limits, beam_size=1)
    likeliest = greedy(Table(), source, prefixes, eos_id=EOS, alpha=alpha, limits=limits)
    assert one == likeliest
    assert {h.finished for (h,) in one} == {True, False}


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_stopping_early_loses_nothing(alpha: float) -> None:
    def run(table: Table, n_best: int) -> list[list[Hypothesis]]:
        return beam(
            table,
            sources(*range(17)),
            [[BOS]] * 17,
            eos_id=EOS,
            beam_size=5,
            alpha=alpha,
            n_best=n_best,
            limits=LengthLimits(max_length=11),
        )

    early, late = Table(), Table()
    # With n_best 5 the search runs longer; its best hypothesis is the same.
    assert [h[:1] for h in run(late, 5)] == run(early, 1)
    assert early.rows < late.rows


def test_the_first_stop_rule_ends_once_beam_size_hypotheses_have_ended() -> None:
    def run(table: Table, beam_size: int, stop: Literal["exact", "first"]) -> list[Hypothesis]:
        (found,) = beam(
            table, sources(7), [[BOS]], eos_id=EOS, beam_size=beam_size, alpha=2.0, stop=stop,
            limits=LengthLimits(max_length=11),
        )  # fmt: skip
        return found

    usual, exact = Chain(0.6, 11), Chain(0.6, 11)
    # One hypothesis ends at once; a beam of one stops there, though a later one is better.
    assert run(usual, 1, "first")[0].tokens == ()
    assert usual.steps == 1
    assert run(exact, 2, "exact")[0].tokens == (A,) * 11
    # Never later than the exact rule.
    first, last = Table(3), Table(3)
    assert run(first, 5, "first")[0].score <= run(last, 5, "exact")[0].score
    assert first.rows <= last.rows


class Chain(Table):
    """Ends at once with probability ``end``; otherwise continues for ``length`` tokens with certainty."""

    def __init__(self, end: float, length: int) -> None:
        super().__init__()
        self.end, self.length = end, length

    def logits(self, number: int, history: Sequence[int]) -> Tensor:
        written = len(history) - 1
        end = self.end if written == 0 else float(written == self.length)
        return torch.tensor([0.0, 1 - end, 0.0, 0.0, end]).log()


@pytest.mark.parametrize(
    ("alpha", "end", "length"),
    [
        # log 0.335 / lp(12) = -0.386 beats log 0.665 = -0.408; over lp(11) it would be -0.410.
        (1.0, 0.665, 11),
        # With a negative alpha short outputs are favoured: log 0.6 / lp(2) = -0.596 beats log 0.4 = -0.916.
        (-1.0, 0.4, 1),
    ],
)
def test_a_search_continues_while_a_hypothesis_can_win(alpha: float, end: float, length: int) -> None:
    (found,) = beam(
        Chain(end, length), sources(1), [[BOS]], eos_id=EOS, alpha=alpha, limits=LengthLimits(max_length=11)
    )
    assert found[0].tokens == (A,) * length
    assert found[0].finished


def test_a_search_stops_when_no_live_hypothesis_can_win() -> None:
    table = Chain(0.7, 11)
    (found,) = beam(table, sources(1), [[BOS]], eos_id=EOS, alpha=1.0, limits=LengthLimits(max_length=11))
    assert found[0].tokens == ()
    assert table.steps == 1


def test_results_do_not_depend_on_the_batch() -> None:
    numbers = list(range(23))
    prefixes = [[BOS, B, A, A][: 1 + n % 4] for n in numbers]
    limits = LengthLimits(max_extra=3)
    together = beam(Table(), sources(*numbers), prefixes, eos_id=EOS, n_best=3, limits=limits)
    alone = [
        beam(Table(), sources(n), [prefixes[n]], eos_id=EOS, n_best=3, limits=limits)[0] for n in numbers
    ]
    backwards = beam(Table(), sources(*numbers[::-1]), prefixes[::-1], eos_id=EOS, n_best=3, limits=limits)
    assert together == alone == backwards[::-1]


class Endless(Table):
    """Never ends by itself: the end symbol has the lowest score."""

    def logits(self, number: int, history: Sequence[int]) -> Tensor:
        return torch.tensor([0.0, 2.0, 1.0, 0.0, -7.0])


def test_each_sentences_limit_follows_its_own_source() -> None:
    source = Source(torch.tensor([[1, 1, 1], [2, 0, 0]]), torch.tensor([3, 1]))
    found = beam(
        Endless(),
        source,
        [[BOS], [BOS]],
        eos_id=EOS,
        alpha=0.0,
        beam_size=3,
        limits=LengthLimits(max_extra=4),
    )
    step = Endless().logits(0, []).log_softmax(0)
    for (hypothesis,), length in zip(found, (7, 5), strict=True):
        assert hypothesis.tokens == (A,) * length
        assert not hypothesis.finished
        assert near(hypothesis.log_probability, float(length * step[A] + step[EOS]))


def test_a_finished_sentence_is_not_stepped_past_its_limit() -> None:
    class Positions(Endless):
        """A model of seven positions."""

        def step(self, tokens_R: Tensor, state: TableState) -> tuple[Tensor, TableState]:
            assert all(len(history) < 1 + 7 for history in state.histories)
            return super().step(tokens_R, state)

    prefixes = [[BOS, A, A, A]] + [[BOS]] * 16
    for search in (beam, greedy):
        found = search(
            Positions(), sources(*range(17)), prefixes, eos_id=EOS, limits=LengthLimits(capacity=7)
        )
        assert all(len(h[0].tokens) <= 7 for h in found)


def test_a_cut_hypothesis_competes_with_the_low_score_of_its_end() -> None:
    source, limits = sources(1), LengthLimits(max_length=2)
    (found,) = beam(Endless(), source, [[BOS]], eos_id=EOS, alpha=0.0, beam_size=3, n_best=3, limits=limits)
    assert [h.tokens for h in found] == [(A, A), (A, B), (B, A)]
    scores = {o.tokens: o.score for o in brute_force(Endless(), 1, [BOS], longest=2, alpha=0.0)}
    assert all(near(h.score, scores[h.tokens]) and not h.finished for h in found)


def test_hypotheses_are_distinct_and_sorted() -> None:
    found = beam(
        Table(3, spread=0.5),
        sources(*range(19)),
        [[BOS]] * 19,
        eos_id=EOS,
        beam_size=7,
        n_best=7,
        limits=LengthLimits(max_length=2),
        constraints=[Banned([PAD, BOS])],
    )
    for hypotheses in found:
        tokens = [h.tokens for h in hypotheses]
        assert len(set(tokens)) == len(tokens) == 7
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)


def test_an_output_without_allowed_continuations_is_cut() -> None:
    table = Table()
    for search in (beam, greedy):
        (found,) = search(table, sources(3), [[BOS, A]], eos_id=EOS, constraints=[Banned(range(5))])
        (hypothesis,) = found
        assert hypothesis.tokens == (A,)
        assert not hypothesis.finished
        assert near(hypothesis.log_probability, log_p(table, 3, [BOS, A], [EOS]))


def test_an_end_of_probability_zero_still_gives_an_output() -> None:
    class Ruled(Table):
        def logits(self, number: int, history: Sequence[int]) -> Tensor:
            return torch.tensor([0.0, 2.0, 1.0, 0.0, -math.inf])

    for search in (beam, greedy):
        (found,) = search(Ruled(), sources(3), [[BOS]], eos_id=EOS, limits=LengthLimits(max_length=3))
        assert found[0].tokens == (A, A, A)
        assert not found[0].finished
        assert found[0].log_probability < -9e3


def test_an_output_at_its_limit_is_cut_at_its_prefix_or_ends_there() -> None:
    found = beam(
        Table(),
        sources(*range(29)),
        [[BOS, A, B]] * 29,
        eos_id=EOS,
        beam_size=1,
        limits=LengthLimits(max_length=1),
    )
    assert {h.tokens for (h,) in found} == {(A, B)}
    assert {h.finished for (h,) in found} == {True, False}


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nan_and_infinite_scores_are_an_error(bad: float) -> None:
    class Broken(Table):
        def logits(self, number: int, history: Sequence[int]) -> Tensor:
            logits = super().logits(number, history).clone()
            if number == 5 and len(history) == 3:
                logits[A] = bad
            return logits

    for search in (beam, greedy):
        with pytest.raises(UserError, match="step 3: the model's scores are not finite numbers"):
            search(Broken(), sources(2, 5), [[BOS]] * 2, eos_id=EOS, limits=LengthLimits(min_length=5))


def test_scores_of_minus_infinity_only_are_an_error() -> None:
    class Mute(Table):
        def logits(self, number: int, history: Sequence[int]) -> Tensor:
            return torch.full((5,), -math.inf)

    with pytest.raises(UserError, match="not finite"):
        beam(Mute(), sources(2), [[BOS]], eos_id=EOS)


def test_more_hypotheses_than_the_beam_holds_are_refused() -> None:
    with pytest.raises(UserError, match="n_best 6 is larger than the beam, 5"):
        beam(Table(), sources(2), [[BOS]], eos_id=EOS, n_best=6)


def test_no_sentences_give_no_hypotheses() -> None:
    assert beam(Table(), sources(), [], eos_id=EOS) == []
    assert greedy(Table(), sources(), [], eos_id=EOS) == []
