"""Minimum Bayes risk, against sacreBLEU and by hand."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from multihead.errors import UserError
from multihead.generation import Translator
from multihead.generation.consensus import _likeness, _NGrams, by_consensus
from multihead.generation.translation import Output
from multihead.settings import SearchSettings

ORACLE = BLEU(tokenize="none", smooth_method="add-k", smooth_value=1)
SENTENCES = st.lists(st.sampled_from(["a", "man", "sits", ",", "there"]), min_size=4, max_size=13).map(
    " ".join
)


def output(text: str, log_probability: float = 0.0) -> Output:
    return Output(text, (), log_probability, log_probability, cut=False)


@given(SENTENCES, SENTENCES)
def test_likeness_is_smoothed_bleu(text: str, reference: str) -> None:
    expected = ORACLE.sentence_score(text, [reference]).score / 100
    assert _likeness(_NGrams.of(text), _NGrams.of(reference)) == pytest.approx(expected, abs=1e-9)


def test_what_most_agree_on_comes_before_what_is_likeliest() -> None:
    found = [output("a dog", -1.0), output("two men sit there", -1.3), output("two men sit here", -1.4)]
    assert [one.text for one in by_consensus(found, sampled=False)][-1] == "a dog"


def test_outputs_count_by_their_probability_unless_they_were_drawn_by_it() -> None:
    odd, *alike = output("a dog", -1.0), output("two men sit", -9.0), output("two men sat", -9.0)
    assert by_consensus([*alike, odd], sampled=False)[0] is odd
    assert by_consensus([odd, *alike], sampled=True)[0] is not odd


def test_probabilities_that_no_number_holds_do_no_harm() -> None:
    found = [output("a b", -5000.0), output("a c", -5001.0)]
    assert [one.text for one in by_consensus(found, sampled=False)] == ["a b", "a c"]


@pytest.mark.parametrize(
    "texts", [[], [""], ["", ""], ["", "a"], ["!?", "…"], ["안녕 하세요", "안녕"], ["猫が好き", "猫好き"]]
)
def test_any_text_is_compared(texts: list[str]) -> None:
    found = by_consensus([output(text) for text in texts], sampled=True)
    assert sorted(one.text for one in found) == sorted(texts)


def test_writing_without_spaces_is_compared_by_its_signs() -> None:
    one, other = _NGrams.of("猫が好き"), _NGrams.of("猫も好き")
    assert one.length == 4
    assert 0 < _likeness(one, other) < 1


def test_equals_keep_their_order() -> None:
    found = [output(text) for text in random.Random(1).sample("bcdefgh", 7)]
    assert by_consensus(found, sampled=True) == found


def test_a_translator_finds_more_and_returns_what_was_asked_for(translator: Translator) -> None:
    line, settings = "eine Katze und ein Hund", SearchSettings(max_extra=5, beam_size=3, n_best=2)
    wide = settings.model_copy(update={"beam_size": 7, "n_best": 7})
    [reranked] = translator.translate([line], settings.model_copy(update={"mbr": 7}))
    [all_found] = translator.translate([line], wide)
    expected = by_consensus(all_found.hypotheses, sampled=False)
    assert list(reranked.hypotheses) == expected[:2]
    assert reranked.text == expected[0].text
    sampled = translator.translate([line], SearchSettings(max_extra=5, method="sample", mbr=5))[0]
    assert len(sampled.hypotheses) == 1
    assert math.isfinite(sampled.hypotheses[0].log_probability)
    with pytest.raises(UserError, match="one output, not 7"):
        translator.translate([line], SearchSettings(method="greedy", mbr=7))
