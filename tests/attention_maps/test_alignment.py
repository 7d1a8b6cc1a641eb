"""Alignments from recorded weights, against sums written out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from multihead.errors import UserError
from multihead.inspect.maps import AlignmentHead, AttentionRecord, Kind, Sentence, TokenLabel, align
from multihead.inspect.maps.alignment import (
    combine,
    drop_tokens,
    merge_words,
    most_informative,
    mutual_information,
)

Floats = NDArray[np.float32]
T, S, H = 5, 7, 3


def random_weights(*shape: int, seed: int = 1) -> Floats:
    drawn = np.random.default_rng(seed).gamma(0.5, size=shape) + 1e-3
    weights: Floats = (drawn / drawn.sum(-1, keepdims=True)).astype(np.float32)
    return weights


def a_record(weights_BHQK: Floats, layer: int = 1, kind: Kind = "cross") -> AttentionRecord:
    B, _, Q, K = weights_BHQK.shape
    return AttentionRecord("a.b", kind, layer, weights_BHQK, None, np.full(B, Q), np.full(B, K))


def a_side(words: str) -> Sentence:
    """Return tokens: subwords joined by "+" form a word, "<...>" is special."""
    pieces, whole = [], []
    for number, word in enumerate(words.split()):
        special = word.startswith("<")
        pieces += [TokenLabel(piece, number, special) for piece in word.split("+")]
        whole.append(TokenLabel(word.replace("+", ""), number, special))
    return Sentence(tuple(pieces), tuple(whole))


SOURCE, TARGET = a_side("zwei+und+vierzig rote Hun+de </s>"), a_side("forty+two red dogs </s>")


def texts(tokens: tuple[TokenLabel, ...]) -> list[str]:
    return [token.text for token in tokens]


def test_merging_sums_over_a_words_keys_and_averages_over_its_queries() -> None:
    weights = random_weights(T, S)
    merged = merge_words(weights, [0, 0, 1, 2, 3], [0, 0, 0, 1, 2, 2, 3])
    expected = np.zeros((4, 4))
    for row, rows in enumerate([[0, 1], [2], [3], [4]]):
        for column, columns in enumerate([[0, 1, 2], [3], [4, 5], [6]]):
            expected[row, column] = np.mean([sum(weights[t, s] for s in columns) for t in rows])
    np.testing.assert_allclose(merged, expected, rtol=1e-6)


@given(
    st.lists(st.booleans(), min_size=T - 1, max_size=T - 1),
    st.lists(st.booleans(), min_size=S - 1, max_size=S - 1),
)
def test_merged_rows_still_sum_to_1(rows: list[bool], columns: list[bool]) -> None:
    target, source = np.cumsum([0, *rows]).tolist(), np.cumsum([0, *columns]).tolist()
    merged = merge_words(random_weights(T, S), target, source)
    assert merged.shape == (1 + sum(rows), 1 + sum(columns))
    np.testing.assert_allclose(merged.sum(1), 1, atol=1e-6)


def test_rows_are_renormalised_after_tokens_are_dropped() -> None:
    weights = random_weights(T, S)
    left = drop_tokens(weights, np.arange(T) == 4, np.arange(S) == 6)
    expected = weights[:4, :6] / (1 - weights[:4, 6:])
    np.testing.assert_allclose(left, expected, rtol=1e-5)


def test_a_row_without_remaining_weight_stays_zero() -> None:
    weights = np.array([[0, 0, 1], [0.5, 0.25, 0.25]], dtype=np.float32)
    left = drop_tokens(weights, np.array([False, False]), np.array([False, False, True]))
    np.testing.assert_allclose(left, [[0.0, 0.0], [2 / 3, 1 / 3]], rtol=1e-6)


def test_heads_are_reduced_by_mean_or_maximum_or_one_is_chosen() -> None:
    heads = random_weights(H, T, S)
    mean: Floats = np.add(np.add(heads[0], heads[1]), heads[2]) / np.float32(H)
    np.testing.assert_allclose(combine(heads, AlignmentHead()), mean, rtol=1e-5)
    largest = np.maximum(np.maximum(heads[0], heads[1]), heads[2])
    expected = largest / largest.sum(1, keepdims=True)
    np.testing.assert_allclose(combine(heads, AlignmentHead(combine="max")), expected, rtol=1e-5)
    np.testing.assert_array_equal(combine(heads, AlignmentHead(head=2)), heads[1])


def test_the_most_informative_layer_is_neither_uniform_nor_a_sink() -> None:
    uniform = np.full((H, T, S), 1 / S, dtype=np.float32)
    sink = np.zeros((H, T, S), dtype=np.float32)
    sink[..., -1] = 1
    blurred = np.tile(0.6 * np.eye(T, S, dtype=np.float32) + 0.4 / S, (H, 1, 1))
    assert most_informative([uniform, sink, blurred]) == 3
    assert most_informative([blurred, sink, uniform]) == 1


def test_mutual_information_is_that_of_the_joint_distribution() -> None:
    weights = random_weights(T, S)
    joint = weights.astype(np.float64) / T
    independent = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    assert mutual_information(weights) == pytest.approx((joint * np.log(joint / independent)).sum(), rel=1e-5)
    assert mutual_information(np.eye(T, dtype=np.float32)) == pytest.approx(np.log(T))


def test_an_alignment_has_output_tokens_as_rows_and_source_tokens_as_columns() -> None:
    weights = random_weights(2, H, T, S)
    made = align([a_record(weights)], SOURCE, TARGET, index=1)
    assert texts(made.target) == ["forty", "two", "red", "dogs"]
    assert texts(made.source) == ["zwei", "und", "vierzig", "rote", "Hun", "de"]
    mean = weights[1].mean(0)[:4, :6]
    np.testing.assert_allclose(made.matrix_TS, mean / mean.sum(1, keepdims=True), rtol=1e-5)


def test_specials_are_shown_when_asked_for() -> None:
    weights = random_weights(1, H, T, S)
    made = align([a_record(weights)], SOURCE, TARGET, specials=True)
    assert texts(made.target)[-1] == texts(made.source)[-1] == "</s>"
    np.testing.assert_allclose(made.matrix_TS, weights[0].mean(0), rtol=1e-5)


def test_words_are_merged_when_asked_for() -> None:
    made = align([a_record(random_weights(1, H, T, S))], SOURCE, TARGET, words=True)
    assert texts(made.target) == ["fortytwo", "red", "dogs"]
    assert texts(made.source) == ["zweiundvierzig", "rote", "Hunde"]
    assert made.matrix_TS.shape == (3, 3)
    np.testing.assert_allclose(made.matrix_TS.sum(1), 1, rtol=1e-5)


def test_only_cross_attention_gives_an_alignment() -> None:
    of_source = a_record(random_weights(1, H, S, S), kind="encoder self")
    with pytest.raises(UserError, match="no attention over the source"):
        align([of_source], SOURCE, TARGET)
    cross = a_record(random_weights(1, H, T, S))
    assert align([of_source, cross], SOURCE, TARGET).caption == align([cross], SOURCE, TARGET).caption


def test_the_caption_says_how_the_matrix_was_computed_and_adds_a_caution() -> None:
    records = [a_record(random_weights(1, H, T, S, seed=n), layer=n) for n in (1, 2)]
    caution = "Attention shows where the model attended, not why it produced this output."
    head = align(records, SOURCE, TARGET, choice=AlignmentHead(layer=2, head=3), words=True).caption
    how = "layer 2 of 2, head 3 of 3, subwords merged into words, special symbols omitted"
    assert head == f"Attention over the source, {how}. {caution}"
    largest = align(
        records, SOURCE, TARGET, choice=AlignmentHead(layer=1, combine="max"), specials=True
    ).caption
    assert largest == f"Attention over the source, layer 1 of 2, max of 3 heads. {caution}"
    best = align(records, SOURCE, TARGET).caption
    assert "(the most informative), mean of 3 heads" in best
    alone = align([a_record(random_weights(1, 1, T, S))], SOURCE, TARGET, specials=True).caption
    assert alone == f"Attention over the source. {caution}"


@pytest.mark.parametrize(
    ("choice", "fault"),
    [
        (AlignmentHead(layer=0), "there is no layer 0. Choose one from 1 to 2."),
        (AlignmentHead(layer=3), "there is no layer 3. Choose one from 1 to 2."),
        (AlignmentHead(head=0), "there is no head 0. Choose one from 1 to 3."),
        (AlignmentHead(layer=1, head=4), "there is no head 4. Choose one from 1 to 3."),
    ],
)
def test_a_missing_layer_or_head_is_a_user_error(choice: AlignmentHead, fault: str) -> None:
    records = [a_record(random_weights(1, H, T, S), layer=n) for n in (1, 2)]
    with pytest.raises(UserError) as raised:
        align(records, SOURCE, TARGET, choice=choice)
    assert str(raised.value) == fault


def test_no_tokens_give_an_empty_matrix() -> None:
    assert merge_words(np.zeros((0, 0), dtype=np.float32), [], []).shape == (0, 0)
    assert merge_words(np.zeros((3, 0), dtype=np.float32), [0, 0, 1], []).shape == (2, 0)
