"""Token labels of running text: every character is kept, in its word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.inspect.maps import running_text, sentence
from multihead.tasks.masked.mask_tokens import MASK, encode_masked, mask_id
from multihead.tasks.masked.mask_tokens import learn as learn_with_gaps
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.text.lossless import learn
from multihead.text.tokenizer import Tokenizer

TEXT = "The king doesn't  say:\n“well-known” 안녕하세요 😀!"


@pytest.fixture(scope="module")
def letters() -> Tokenizer:
    return learn([TEXT], "chars", 97, 1)


BYTES = learn(["the king said that the king is the king"], "bpe", 290, 1)


def test_words_are_found_in_the_text_itself(letters: Tokenizer) -> None:
    found = running_text(letters, TEXT)
    before = ["The", "␣", "king", "␣", "doesn't", "␣␣", "say", ":", "⏎", "“", "well-known", "”", "␣"]
    assert [token.text for token in found.words] == [*before, "안녕하세요", "␣", "😀!"]
    assert [token.text for token in found.pieces[:5]] == ["T", "h", "e", "␣", "k"]
    assert not any(token.special for token in found.pieces)


def test_a_token_with_a_leading_space_starts_its_word() -> None:
    found = running_text(BYTES, "the king is")
    assert [token.text for token in found.words] == ["the", "king", "is"]
    assert [token.word for token in found.pieces][-1] == 2


def test_byte_tokens_of_one_character_are_numbered() -> None:
    found = running_text(BYTES, "안")
    assert [token.text for token in found.pieces] == ["안₁", "안₂", "안₃"]
    assert [token.text for token in found.words] == ["안"]


@given(st.text(max_size=40))
def test_any_text_has_a_label_per_token_and_a_word_per_label(text: str) -> None:
    found = running_text(BYTES, text)
    assert len(found.pieces) == len(BYTES.encode(text))
    numbers = [token.word for token in found.pieces]
    assert numbers == sorted(numbers)
    assert sorted(set(numbers)) == list(range(len(found.words)))


def test_a_mask_symbol_is_a_word_of_its_own() -> None:
    settings = TokenizerSettings(vocab_size=60)
    tokenizer = learn_with_gaps(["the king said", "the kings say"], settings, lowercase=False)
    gap = mask_id(tokenizer)
    assert gap is not None
    ids = encode_masked(tokenizer, "the [MASK] said[MASK]the")
    words = [token.text for token in sentence(tokenizer, ids, [gap]).words]
    assert words == ["the", MASK, "said", MASK, "the"]
