"""Word tokenizers of published BLEU scores."""

import pytest

from multihead.errors import UserError
from multihead.text.published import tokeniser


def test_spacy_tokenises_by_its_rules_alone() -> None:
    pytest.importorskip("spacy", reason="the extra [published] is not installed")
    assert tokeniser("spacy", "en")(["a dog's ball, isn't it?"]) == ["a dog 's ball , is n't it ?"]


def test_spacy_returns_no_space_tokens() -> None:
    pytest.importorskip("spacy", reason="the extra [published] is not installed")
    assert tokeniser("spacy", "de")(["ein  Hund ", ""]) == ["ein Hund", ""]


def test_a_language_without_rules_is_refused() -> None:
    pytest.importorskip("spacy", reason="the extra [published] is not installed")
    with pytest.raises(UserError, match='spacy has no rules for "xx9"'):
        tokeniser("spacy", "xx9")


def test_moses_does_not_escape() -> None:
    pytest.importorskip("sacremoses", reason="the extra [published] is not installed")
    assert tokeniser("moses", "de")(['Ein "Hund", z.B.']) == ['Ein " Hund " , z.B.']


def test_an_unknown_tokenizer_is_refused() -> None:
    with pytest.raises(UserError, match="spacy, moses"):
        tokeniser("sapcy", "en")
