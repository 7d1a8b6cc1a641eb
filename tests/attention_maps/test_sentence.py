"""Labels of subwords and words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.inspect.maps import sentence
from multihead.recipe.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

LINES = [
    "ein und zwanzig Hunde laufen",
    "안녕하세요 세계",
    "twenty-three dogs run",
    "zwei und vierzig Katzen",
]


@pytest.fixture(scope="module")
def bpe() -> Tokenizer:
    return train(LINES, TokenizerSettings(kind="bpe", vocab_size=330))


def test_subwords_are_labelled_without_markers_and_numbered_by_word(bpe: Tokenizer) -> None:
    ids = bpe.encode("zwei Hunde")
    shown = sentence(bpe, [bpe.bos_id, *ids, bpe.eos_id])
    assert not any("▁" in token.text for token in shown.pieces)
    assert [token.text for token in shown.words] == ["<s>", "zwei", "Hunde", "</s>"]
    assert [token.special for token in shown.words] == [True, False, False, True]
    assert [token.word for token in shown.words] == [0, 1, 2, 3]
    assert shown.pieces[0].special
    assert shown.pieces[-1].special
    assert "".join(token.text for token in shown.pieces if token.word == 2) == "Hunde"


def test_a_character_encoded_as_bytes_is_a_character_in_its_word(bpe: Tokenizer) -> None:
    shown = sentence(bpe, bpe.encode("Zürich 😀"))
    assert [token.text for token in shown.words] == ["Zürich", "😀"]
    assert "<0xF0>" in [token.text for token in shown.pieces]


def test_a_bare_marker_keeps_its_label() -> None:
    characters = train(LINES, TokenizerSettings(kind="chars", vocab_size=330))
    shown = sentence(characters, characters.encode("ein Hund"))
    assert [token.text for token in shown.pieces] == ["▁", "e", "i", "n", "▁", "H", "u", "n", "d"]
    assert [token.text for token in shown.words] == ["ein", "Hund"]


def test_an_unknown_word_counts_as_a_word() -> None:
    whole = train(LINES, TokenizerSettings(kind="words", vocab_size=330))
    shown = sentence(whole, whole.encode("zwei Kraken laufen"))
    assert [token.text for token in shown.words] == ["zwei", "<unk>", "laufen"]


def test_a_special_symbol_ends_a_word_even_before_a_continuation_subword(bpe: Tokenizer) -> None:
    continuation = next(id for id in bpe.encode("zwanzig") if not bpe.word_starts[id])
    shown = sentence(bpe, [bpe.eos_id, continuation, bpe.eos_id])
    assert [token.word for token in shown.pieces] == [0, 1, 2]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "chars"])
def test_punctuation_around_a_word_is_split_off(kind: str) -> None:
    lines = ["(twenty-three) dogs, ein 'Hund'!", "- don't ..."]
    pieces = train(lines, TokenizerSettings.model_validate({"kind": kind, "vocab_size": 330}))
    shown = sentence(pieces, pieces.encode("(twenty-three) dogs, - don't ..."))
    assert [t.text for t in shown.words] == ["(", "twenty-three", ")", "dogs", ",", "-", "don't", "..."]
    assert [t.word for t in shown.words] == list(range(8))


def test_an_empty_sequence_has_no_tokens(bpe: Tokenizer) -> None:
    assert sentence(bpe, []).pieces == ()
    assert sentence(bpe, []).words == ()


@given(text=st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=30))
def test_word_numbers_are_consecutive_and_words_spell_the_text(bpe: Tokenizer, text: str) -> None:
    ids = bpe.encode(text)
    shown = sentence(bpe, ids)
    assert len(shown.pieces) == len(ids)
    assert sorted({token.word for token in shown.pieces}) == [token.word for token in shown.words]
    assert [token.word for token in shown.words] == list(range(len(shown.words)))
    assert "".join(token.text for token in shown.words).replace(" ", "") == bpe.decode(ids).replace(" ", "")
