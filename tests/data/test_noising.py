"""Noise that training sources get on the fly."""

import random

import pytest

from multihead.data.marking import Marking
from multihead.data.noising import Noise, misspelt
from multihead.recipe.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

TEXTS = ["Ein Hund sieht die Katze.", "Die Frau liest ein Buch.", "Zwei Kinder spielen im Schnee."] * 67


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(
        [text + text.lower() for text in TEXTS], TokenizerSettings(vocab_size=420, symbols=("standard",))
    )


def noisy(made: Noise, sources: list[list[int]], epoch: int = 0) -> list[list[int]]:
    targets = [[5]] * len(sources)
    found, same = made(sources, targets, [(epoch, number) for number in range(len(sources))])
    assert same == targets
    return [list(map(int, ids)) for ids in found]


def test_noise_is_a_function_of_seed_epoch_and_pair(tokenizer: Tokenizer) -> None:
    sources = tokenizer.encode_batch(TEXTS)
    made = Noise(tokenizer, 0.5, 3, 99)
    assert noisy(made, sources) == noisy(Noise(tokenizer, 0.5, 3, 99), sources)
    assert noisy(made, sources) != noisy(made, sources, epoch=1)
    changed = [
        tokenizer.decode(ids) for ids, old in zip(noisy(made, sources), sources, strict=True) if ids != old
    ]
    assert 0.3 * len(TEXTS) < len(changed) < 0.6 * len(TEXTS)
    assert any(text == text.lower() for text in changed)
    assert any(text != text.lower() for text in changed)


def test_tags_and_marked_sources_keep_their_symbols(tokenizer: Tokenizer) -> None:
    tag, placeholder = tokenizer.symbols["<bt>"], tokenizer.symbols["<ph0>"]
    words = tokenizer.encode(TEXTS[0])
    sources = [[tag, *words], [*words, placeholder]] * 50
    found = noisy(Noise(tokenizer, 1.0, 3, 99), sources)
    assert all(ids[0] == tag for ids in found[::2])
    assert any(ids != sources[0] for ids in found[::2])
    assert all(ids == sources[1] for ids in found[1::2])


def test_no_source_grows_beyond_the_limit(tokenizer: Tokenizer) -> None:
    sources = tokenizer.encode_batch(TEXTS)
    longest = max(map(len, sources))
    assert max(map(len, noisy(Noise(tokenizer, 1.0, 3, longest), sources))) <= longest


def test_errors_change_letters_alone() -> None:
    text = "Ein Hund, 12 Katzen!"
    assert misspelt(text, 0.0, random.Random(1)) == text
    for seed in range(50):
        found = misspelt(text, 0.3, random.Random(seed))
        assert [c for c in found if not c.isalpha()] == [c for c in text if not c.isalpha()]


def test_noise_comes_after_marks(tokenizer: Tokenizer) -> None:
    class Upper(Marking):
        def __init__(self) -> None:
            pass

        def __call__(self, sources, targets, keys):  # type: ignore[no-untyped-def]
            return [tokenizer.encode("HUND") for _ in sources], targets

    found = noisy(Noise(tokenizer, 1.0, 3, 99, Upper()), [[5]] * 20)
    assert {"hund"} <= {tokenizer.decode(ids) for ids in found}
