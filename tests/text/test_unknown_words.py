"""Words with letters that a vocabulary lacks."""

import pytest

from multihead.recipe.settings import TokenizerSettings
from multihead.text.placeholder_patterns import CARRIED
from multihead.text.placeholders import protect, restore
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train
from multihead.text.unknown_words import unknown_words

ENGLISH = ["the quick brown fox jumps over the lazy dog", "The Package Provides An Öl Library"] * 5
KOREAN = ["하늘 바다 나무 사람이 걷는다", "사람은 나무 아래 있다"] * 5


@pytest.fixture(scope="module", params=["bpe", "unigram", "chars"])
def english(request: pytest.FixtureRequest) -> Tokenizer:
    return train(ENGLISH, TokenizerSettings(kind=request.param, vocab_size=500, symbols=("standard",)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The fox Ζεύς jumps over Леонид.", ["Ζεύς", "Леонид"]),
        ("by Ðorđe, the fox", ["Ðorđe"]),
        ("한글 글자 is over", ["한글 글자"]),
        ("the ÖL", []),  # its small letter is known
        ("öl, 17 dogs → over ✓", []),  # signs and digits are not letters
        ("Привет-мир over the dog", ["Привет-мир"]),
        ("Привет, мир", ["Привет", "мир"]),
        ("e\u0301\u0301", []),
        ("", []),
    ],
)
def test_words_with_unknown_letters_are_named(text: str, words: list[str], english: Tokenizer) -> None:
    spans = unknown_words(text, english)
    assert [span.text for span in spans] == words
    assert all(text[span.start : span.end] == span.text for span in spans)


def test_rare_syllables_of_the_source_are_left_to_the_model() -> None:
    korean = train(KOREAN, TokenizerSettings(kind="bpe", vocab_size=400))
    assert not unknown_words("뷁나무 하늘", korean)
    assert not unknown_words("하늘 뷁 나무", korean)
    assert [span.text for span in unknown_words("하늘 Zeus나무", korean)] == ["Zeus나무"]


def test_they_are_carried_beside_other_placeholders(english: Tokenizer) -> None:
    text = "The fox Ζεύς jumps over {count} dogs in gtk3 and Ζ3x at https://ζ.org/a"
    protected = protect(text, ["<ph0>", "<ph1>", "<ph2>", "<ph3>"], CARRIED, (), unknown_words(text, english))
    kept = [entry.span.text for entry in protected.table.entries]
    assert kept[:3] == ["Ζεύς", "{count}", "gtk3"]
    assert restore(protected.text, protected.table).text == text
