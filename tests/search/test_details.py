import pytest
import torch
from tables import BOS, EOS, Table, sources

from multihead.errors import UserError
from multihead.search.beam import beam
from multihead.search.distribution import largest, log_normaliser
from multihead.search.greedy import greedy
from multihead.search.hypotheses import length_penalty
from multihead.search.observer import Branches, Fate
from multihead.search.request import LengthLimits


@pytest.mark.parametrize(
    ("length", "alpha", "penalty"),
    [(1, 0.6, 1.0), (7, 1.0, 2.0), (7, 0.5, 2**0.5), (13, 2.0, 9.0), (4, -1.0, 2 / 3), (19, 0.0, 1.0)],
)
def test_length_penalties_computed_by_hand(length: int, alpha: float, penalty: float) -> None:
    assert length_penalty(float(length), alpha) == pytest.approx(penalty)
    assert float(length_penalty(torch.tensor([length]), alpha)) == pytest.approx(penalty)


@pytest.mark.parametrize("k", [1, 2, 7, 61])
@pytest.mark.parametrize("vocabulary", [1, 5, 64, 127, 1009, 4096])
def test_the_largest_entries_are_those_of_topk(vocabulary: int, k: int) -> None:
    torch.manual_seed(vocabulary + k)
    logits = torch.randn(13, vocabulary)
    logits[3, vocabulary // 2 :] = -torch.inf
    logits[5, -1] = 9.0
    values, places = largest(logits, k)
    assert torch.equal(values, logits.topk(min(k, vocabulary)).values)
    assert torch.equal(values, logits.gather(1, places))
    assert all(len(set(row)) == len(row) for row in places.tolist())


def test_the_choice_between_equal_scores_does_not_depend_on_other_rows() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randint(0, 3, (17, 1009), generator=generator).float()
    together = largest(logits, 5)[1]
    assert torch.equal(together, torch.cat([largest(row[None], 5)[1] for row in logits]))


def test_the_normaliser_is_log_sum_exp_also_for_large_scores_and_many_rows() -> None:
    torch.manual_seed(1)
    logits = torch.randn(331, 1997) * 50
    logits[7, 11:] = -torch.inf
    expected = logits.double().logsumexp(1)
    torch.testing.assert_close(log_normaliser(logits, 0).double(), expected, rtol=1e-6, atol=1e-5)


def test_limits_follow_the_source_by_default() -> None:
    lengths = torch.tensor([3, 0, 11])
    assert LengthLimits().longest(lengths).tolist() == [53, 50, 61]
    assert LengthLimits(max_extra=2).longest(lengths).tolist() == [5, 2, 13]
    assert LengthLimits(max_length=7).longest(lengths).tolist() == [7, 7, 7]
    assert LengthLimits(max_extra=2, capacity=10).longest(lengths).tolist() == [5, 2, 10]


def test_a_minimum_above_the_maximum_is_refused() -> None:
    with pytest.raises(UserError, match="minimum length 7 is above the maximum length 5"):
        LengthLimits(max_length=5, min_length=7)


def test_the_observer_sees_the_whole_tree() -> None:
    steps: list[Branches] = []
    found = beam(
        Table(),
        sources(*range(11)),
        [[BOS]] * 11,
        eos_id=EOS,
        beam_size=3,
        n_best=2,
        limits=LengthLimits(max_length=5),
        observer=steps.append,
    )
    # Replay: sentence -> row -> tokens; every ended branch is an output, and the best of them were returned.
    rows: dict[tuple[int, int], tuple[int, ...]] = {(sentence, 0): () for sentence in range(11)}
    ended: dict[int, dict[tuple[int, ...], tuple[float, bool]]] = {sentence: {} for sentence in range(11)}
    seen: set[Fate] = set()
    for number, step in enumerate(steps):
        assert step.step == number
        going: dict[tuple[int, int], tuple[int, ...]] = {}
        for b, sentence in enumerate(step.sentences.tolist()):
            table = (step.parents, step.tokens, step.log_probabilities, step.fates, step.rows)
            sums_kept: list[float] = []
            sums_pruned: list[float] = []
            for parent, token, total, fate, row in zip(*(t[b].tolist() for t in table), strict=True):
                if total == float("-inf"):
                    assert fate == Fate.PRUNED
                    continue
                seen.add(Fate(fate))
                tokens = rows[sentence, parent]
                assert (row >= 0) == (fate == Fate.KEPT)
                if fate == Fate.KEPT:
                    going[sentence, row] = (*tokens, token)
                elif fate in (Fate.FINISHED, Fate.CUT):
                    assert token == EOS
                    ended[sentence][tokens] = (total, fate == Fate.FINISHED)
                (sums_pruned if fate == Fate.PRUNED else sums_kept).append(total)
            if sums_kept and sums_pruned:
                assert min(sums_kept) >= max(sums_pruned)
        rows = going
    assert seen == set(Fate)
    for sentence, hypotheses in enumerate(found):
        for h in hypotheses:
            total, finished = ended[sentence][h.tokens]
            assert total == pytest.approx(h.log_probability)
            assert finished == h.finished


def test_the_observer_changes_nothing_and_sees_greedy_search_too() -> None:
    steps: list[Branches] = []
    watched = greedy(
        Table(),
        sources(2, 3),
        [[BOS]] * 2,
        eos_id=EOS,
        limits=LengthLimits(max_length=7),
        observer=steps.append,
    )
    assert watched == greedy(
        Table(), sources(2, 3), [[BOS]] * 2, eos_id=EOS, limits=LengthLimits(max_length=7)
    )
    for sentence, (hypothesis,) in enumerate(watched):
        tokens = [
            int(step.tokens[step.sentences.tolist().index(sentence), 0])
            for step in steps
            if sentence in step.sentences.tolist()
        ]
        assert tokens[: len(hypothesis.tokens) + 1] == [*hypothesis.tokens, EOS]
