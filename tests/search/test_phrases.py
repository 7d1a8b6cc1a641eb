"""Beam search for outputs that contain given phrases."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from tables import BOS, EOS, PAD, A, B, Table, brute_force, near, sources

from multihead.search import phrase_search
from multihead.search.beam import beam
from multihead.search.constraints import Banned
from multihead.search.hypotheses import Hypothesis
from multihead.search.phrases import Phrase, phrase_beam
from multihead.search.request import LengthLimits
from multihead.system import native_library

BANNED = [Banned([PAD, BOS])]


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_search, "MAX_BEAM", 999)


def search(
    table: Table, wanted: list[Phrase], *, beam_size: int = 300, longest: int = 4, n_best: int = 3
) -> list[Hypothesis]:
    """Search a sentence whose outputs have up to ``longest`` tokens, those of the phrases included."""
    limits = LengthLimits(max_length=longest - sum(phrase.length for phrase in wanted))
    (found,) = phrase_beam(
        table, sources(7), [[BOS]], [wanted], eos_id=EOS, beam_size=beam_size, n_best=n_best, limits=limits,
        constraints=BANNED,
    )  # fmt: skip
    return found


def contains(tokens: tuple[int, ...], phrase: tuple[int, ...]) -> bool:
    return any(tokens[i : i + len(phrase)] == phrase for i in range(len(tokens)))


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("phrase", [(A,), (B, A), (A, A), (B, A, B)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_wide_beam_finds_the_best_of_all_outputs_that_contain_a_phrase(
    seed: int, phrase: tuple[int, ...]
) -> None:
    table = Table(seed)
    found = search(table, [Phrase((phrase,))])
    outputs = brute_force(table, 7, [BOS], longest=4, alpha=0.6, allowed=(A, B))
    expected = [output for output in outputs if contains(output.tokens, phrase)]
    assert [h.tokens for h in found] == [output.tokens for output in expected[:3]]
    for hypothesis, output in zip(found, expected, strict=False):
        assert near(hypothesis.log_probability, output.log_probability)
        assert near(hypothesis.score, output.score)


@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_beam_writes_every_phrase(seed: int) -> None:
    table = Table(seed, vocabulary=29)
    wanted = [Phrase(((7, 8, 9),)), Phrase(((11,),)), Phrase(((12, 13),))]
    for hypothesis in search(table, wanted, beam_size=4, longest=15):
        assert all(contains(hypothesis.tokens, phrase.forms[0]) for phrase in wanted)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("seed", [1, 2])
def test_one_form_of_a_phrase_is_enough(seed: int) -> None:
    table = Table(seed)
    outputs = brute_force(table, 7, [BOS], longest=4, alpha=0.6, allowed=(A, B))
    forms = ((A, B), (B, B, A))
    expected = [one for one in outputs if any(contains(one.tokens, form) for form in forms)]
    assert search(table, [Phrase(forms)])[0].tokens == expected[0].tokens


def test_equal_phrases_need_as_many_occurrences() -> None:
    for seed in range(3):
        for hypothesis in search(Table(seed, vocabulary=23), [Phrase(((9,),))] * 3, beam_size=5, longest=9):
            assert hypothesis.tokens.count(9) >= 3


def test_a_longer_form_may_go_on_where_a_shorter_one_ends() -> None:
    may_follow = np.array([token in (EOS, 5) for token in range(23)])
    phrase = Phrase(((9,), (9, 10)), may_follow)
    found = [search(Table(seed, 23, 3.0), [phrase], beam_size=5, longest=9) for seed in range(40)]
    outputs = [hypothesis.tokens for hypotheses in found for hypothesis in hypotheses]
    firsts = [tokens.index(9) for tokens in outputs]
    after = {
        tokens[first + 1] for tokens, first in zip(outputs, firsts, strict=True) if first + 1 < len(tokens)
    }
    assert after == {5, 10}


def test_reserved_tokens_are_written_in_phrases_only() -> None:
    for seed in range(5):
        (found,) = phrase_beam(
            Table(seed, 23), sources(7), [[BOS]], [[Phrase(((9,),))]], eos_id=EOS, n_best=5,
            limits=LengthLimits(max_length=7), constraints=BANNED, reserved=range(6, 23),
        )  # fmt: skip
        assert found
        for hypothesis in found:
            assert hypothesis.tokens.count(9) == 1
            assert not set(range(6, 23)) - {9} & set(hypothesis.tokens)


def test_sentences_of_a_batch_do_not_disturb_each_other() -> None:
    table = Table(4, 23)
    wanted = [[Phrase(((9, 10),))], [], [Phrase(((11,),)), Phrase(((12,),))]]
    given = {"eos_id": EOS, "beam_size": 6, "constraints": BANNED}
    limits = LengthLimits(max_length=6)
    prefixes = [[BOS], [BOS, A], [BOS]]
    together = phrase_beam(table, sources(2, 3, 5), prefixes, wanted, limits=limits, **given)  # type: ignore[arg-type]
    for number, prefix, own, found in zip((2, 3, 5), prefixes, wanted, together, strict=True):
        (alone,) = phrase_beam(table, sources(number), [prefix], [own], limits=limits, **given)  # type: ignore[arg-type]
        assert [h.tokens for h in found] == [h.tokens for h in alone]


@pytest.mark.usefixtures("wide")
def test_the_largest_scores_are_those_of_the_kernel() -> None:
    scores = np.random.default_rng(3).standard_normal((5, 307), np.float32)
    scores[2, 4:] = -np.inf
    with native_library.use(""):
        expected = phrase_search._largest(scores, 25)
    for found, row in zip(phrase_search._largest(scores, 25), expected, strict=True):
        assert [pair for pair in found if pair[0] > -np.inf] == [pair for pair in row if pair[0] > -np.inf]


def test_without_phrases_it_is_beam_search() -> None:
    for seed in range(3):
        table, limits = Table(seed), LengthLimits(max_length=3)
        (plain,) = beam(
            table, sources(7), [[BOS]], eos_id=EOS, beam_size=80, limits=limits, constraints=BANNED
        )
        assert search(table, [], longest=3)[0].tokens == plain[0].tokens


def test_an_impossible_phrase_gives_no_hypothesis() -> None:
    (found,) = phrase_beam(
        Table(1),
        sources(7),
        [[BOS]],
        [[Phrase(((A, B, A, B),))]],
        eos_id=EOS,
        limits=LengthLimits(capacity=3),
    )
    assert found == []


class Sentence(Table):
    """A model that prefers one sentence: every prefix of it goes on, anything else ends soon."""

    sentence = (5, 9, 6, 10, 7, 11, 8, 12, 13, EOS)

    def logits(self, number: int, history: Sequence[int]) -> torch.Tensor:
        logits, written = super().logits(number, history).clone(), tuple(history[1:])
        if written == self.sentence[: len(written)]:
            logits[self.sentence[len(written)]] += 3
        else:
            logits[EOS] += 3
        return logits


def test_hypotheses_that_hurry_through_the_phrases_do_not_end_the_search() -> None:
    wanted = [Phrase(((token,),)) for token in (9, 10, 11, 12)]
    for seed in range(5):
        found = search(Sentence(seed, 23, 0.5), wanted, beam_size=3, longest=15, n_best=1)
        assert found[0].tokens == Sentence.sentence[:-1]
