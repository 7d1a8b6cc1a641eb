"""Tags before every text of a tokenizer."""

import pytest

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.marked import MarkedTokenizer
from multihead.text.tagged import TaggedTokenizer, tag, tags_of
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

TEXTS = ["ein kleiner Hund", "a small dog <2fr> here", "<2fr>", "  le petit chien", "größer", "<<2fr>"]


@pytest.fixture(scope="module", params=["bpe", "unigram", "wordpiece", "chars", "words", "spaced"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    symbols = ("<2fr>", "<2zh-hant>", "<domain-legal>", "<bt>")
    settings = TokenizerSettings(kind=request.param, vocab_size=331, symbols=symbols)
    texts = [text.replace("<", "") for text in TEXTS] * 3 + ["<2fr> is text"]
    return train(texts, settings)


def test_a_tag_is_one_token_before_the_text_whatever_the_text(tokenizer: Tokenizer) -> None:
    names = tags_of("zh-Hant", ("<domain-legal>",))
    tagged = TaggedTokenizer(tokenizer, names)
    expected = [tokenizer.symbols["<2zh-hant>"], tokenizer.symbols["<domain-legal>"]]
    for text, ids, plain in zip(
        TEXTS, tagged.encode_batch(TEXTS), tokenizer.encode_batch(TEXTS), strict=True
    ):
        assert ids == tagged.encode(text) == [*expected, *plain]
        assert not set(plain) & set(tokenizer.symbols.values())


def test_tags_and_text_return_from_the_ids(tokenizer: Tokenizer) -> None:
    tagged = TaggedTokenizer(tokenizer, ("<2fr>",))
    back = MarkedTokenizer(tokenizer).decode(tagged.encode("ein kleiner Hund"))
    assert back == "<2fr> ein kleiner Hund"


def test_an_empty_text_stays_empty(tokenizer: Tokenizer) -> None:
    tagged = TaggedTokenizer(tokenizer, ("<2fr>",))
    assert tagged.encode("") == [] == tagged.encode_batch([" "])[0]
    assert tagged.pieces("  ") == []


def test_the_pieces_of_a_tagged_text_cover_the_text_alone(tokenizer: Tokenizer) -> None:
    first, *rest = TaggedTokenizer(tokenizer, ("<2fr>",)).pieces("ein Hund")
    assert (first.text, first.start, first.end) == ("<2fr>", 0, 0)
    assert rest == tokenizer.pieces("ein Hund")


def test_a_tagged_tokenizer_leaves_its_tokenizer_alone(tokenizer: Tokenizer) -> None:
    before = tokenizer.encode("ein Hund")
    TaggedTokenizer(tokenizer, ("<2fr>",))
    assert tokenizer.encode("ein Hund") == before


def test_a_tag_that_is_not_reserved_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(UserError, match=r"no symbol <2en>.*<2fr>"):
        TaggedTokenizer(tokenizer, ("<2en>",))


@pytest.mark.parametrize(
    ("name", "meant"), [("legal", "<domain-legal>"), ("<bt>", "<bt>"), ("copy", "<copy>")]
)
def test_tags_are_written_with_or_without_brackets(name: str, meant: str) -> None:
    assert tag(name) == meant


@pytest.mark.parametrize("name", ["<2de>", "ph0", "<term>", "le gal", "", "<g0>"])
def test_other_symbols_are_no_tags_of_a_corpus(name: str) -> None:
    with pytest.raises(UserError):
        tag(name)
