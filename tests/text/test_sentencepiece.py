"""Exported SentencePiece models give the same ids as the tokenizer."""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.sentencepiece import to_sentencepiece
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

sentencepiece = pytest.importorskip("sentencepiece", reason="the optional sentencepiece is not installed")
KOREAN = Path(__file__).parents[3] / "shared" / "data" / "ko-en" / "pydocs.dev.ko.gz"


def trained(kind: str, texts: list[str], size: int, **more: object) -> Tokenizer:
    return train(texts, TokenizerSettings.model_validate({"kind": kind, "vocab_size": size, **more}))


def theirs(tokenizer: Tokenizer) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=to_sentencepiece(tokenizer))


def assert_same(tokenizer: Tokenizer, texts: list[str]) -> None:
    other = theirs(tokenizer)
    for text in texts:
        text = tokenizer.normalize(text)
        ids = tokenizer.encode(text)
        assert other.encode(text) == ids
        assert other.decode(ids) == tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    ("kind", "size"), [("bpe", 503), ("bpe", 4001), ("chars", 1009), ("unigram", 503), ("unigram", 2003)]
)
def test_real_sentences_get_identical_ids(multi30k: list[str], kind: str, size: int) -> None:
    assert_same(trained(kind, multi30k, size), multi30k)


def test_korean_and_emoji_get_identical_ids(sentences: list[str]) -> None:
    texts = [*sentences, "😀 웃는 얼굴 👩‍👩‍👧", "한국어API를 </s> <0x41> <unk>", "\u2028 \t\u00a0 e\u0301  x"]
    if KOREAN.is_file():
        with gzip.open(KOREAN, "rt", encoding="utf-8", newline="\n") as lines:
            texts += [line.removesuffix("\n") for line in lines]
    for kind in ("bpe", "unigram"):
        tokenizer = trained(kind, texts, 1499, split_digits=True)
        assert_same(tokenizer, [*texts, "뷁 ☃ 日本語 ﬁ"])


@settings(max_examples=20)
@given(
    chance=st.randoms(use_true_random=False), size=st.integers(0, 41), letters=st.sampled_from(["ab", "abc"])
)
def test_words_of_few_letters_get_identical_ids(chance: random.Random, size: int, letters: str) -> None:
    words = ["".join(chance.choices(letters, k=chance.randint(1, 13))) for _ in range(37)]
    more = ["".join(chance.choices(letters, k=chance.randint(1, 31))) for _ in range(101)]
    assert_same(trained("bpe", words, 264 + size), [" ".join(words), *more])


def test_special_tokens_have_the_same_ids_and_kinds(sentences: list[str]) -> None:
    tokenizer = trained("bpe", sentences, 503)
    other = theirs(tokenizer)
    assert (other.pad_id(), other.unk_id(), other.bos_id(), other.eos_id()) == (0, 1, 2, 3)
    assert other.get_piece_size() == tokenizer.vocab_size
    assert [other.id_to_piece(number) for number in range(503)] == [tokenizer.piece(n) for n in range(503)]
    assert other.is_control(0)
    assert other.is_control(2)
    assert other.is_unknown(1)
    assert other.is_byte(4)
    assert not other.is_byte(260)


def test_the_export_is_deterministic_and_survives_saving(sentences: list[str]) -> None:
    tokenizer = trained("bpe", sentences, 503)
    assert to_sentencepiece(Tokenizer.from_json(tokenizer.to_json())) == to_sentencepiece(tokenizer)


@pytest.mark.parametrize("kind", ["wordpiece", "words"])
def test_other_tokenizers_are_refused(sentences: list[str], kind: str) -> None:
    with pytest.raises(UserError, match="only a BPE or unigram tokenizer"):
        to_sentencepiece(trained(kind, sentences, 503))


def test_a_tokenizer_with_other_merges_is_refused(sentences: list[str]) -> None:
    tokenizer = trained("bpe", sentences, 503)
    first, second = tokenizer.content["model"]["merges"][:2]
    text = tokenizer.to_json()
    tokenizer.content["model"]["merges"][:2] = second, first
    changed = Tokenizer.from_json(tokenizer.to_json())
    assert changed.to_json() != text
    with pytest.raises(UserError, match="only a BPE or unigram tokenizer"):
        to_sentencepiece(changed)


def test_ids_can_be_reordered_and_special_tokens_left_out(sentences: list[str]) -> None:
    tokenizer = trained("unigram", sentences, 503)
    left_out = (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id)
    rest = [number for number in range(503) if number not in left_out]
    order = [tokenizer.eos_id, tokenizer.unk_id, *rest, None, None, None]
    other = sentencepiece.SentencePieceProcessor(model_proto=to_sentencepiece(tokenizer, order))
    assert (other.eos_id(), other.unk_id(), other.bos_id(), other.pad_id()) == (0, 1, -1, -1)
    assert other.get_piece_size() == 504
    assert other.is_unused(503)
    for text in (*sentences, "<unused 503> <s> <pad>", "☃"):
        ids = other.encode(tokenizer.normalize(text))
        assert [order[number] for number in ids] == tokenizer.encode(text)
        assert other.decode(ids) == tokenizer.normalize(text)
