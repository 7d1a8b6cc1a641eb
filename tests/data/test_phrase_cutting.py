"""Phrases that are cut from training pairs: right on both sides, and the same in every run."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.data.batches import PairList
from multihead.data.marking import Marking
from multihead.data.phrases import PhraseCutting, capitalise, is_phrase
from multihead.data.word_pairs import WordOccurrence
from multihead.recipe.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

WORDS = {
    "Hund": "dog", "Katze": "cat", "Haus": "house", "Baum": "tree", "Rot": "red", "Stein": "stone",
    "Auto": "car", "Wald": "wood", "Tür": "door",
}  # fmt: skip
BATCH = 5


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    """Sentences whose translation has the same order but for one word, which goes to the end."""
    chance = random.Random(5)
    pairs = []
    for _ in range(211):
        words = chance.sample(list(WORDS), chance.randint(3, 7))
        moved = [*words[:1], *words[2:], words[1]]
        pairs.append((" ".join(words) + ".", capitalise(" ".join(WORDS[word] for word in moved)) + "."))
    return pairs


@pytest.fixture(scope="module")
def tokenizer(texts: list[tuple[str, str]]) -> Tokenizer:
    settings = TokenizerSettings(vocab_size=420, symbols=("standard",))
    return train([side for pair in texts for side in pair], settings)


def cut(
    texts: list[tuple[str, str]], tokenizer: Tokenizer, rate: float = 1.0, prefix: tuple[int, ...] = ()
) -> list[tuple[list[int], list[int]]]:
    sides = [tokenizer.encode_batch([pair[side] for pair in texts]) for side in (0, 1)]
    marking = Marking.of(PairList(*sides), (tokenizer, tokenizer), 0.1, 3, 99)
    assert marking is not None
    cutting = PhraseCutting(tokenizer, marking, rate, 7, Marking(tokenizer, {}, 0.0, 1, 99))
    pairs = []
    for first in range(0, len(texts), BATCH):
        rows = range(first, min(first + BATCH, len(texts)))
        sources = [[*prefix, *sides[0][row]] for row in rows]
        batch = cutting(sources, [sides[1][row] for row in rows], [(2, row) for row in rows])
        pairs += [([int(i) for i in a], [int(i) for i in b]) for a, b in zip(*batch, strict=True)]
    return pairs


def test_a_phrase_and_its_translation_have_the_same_words(
    texts: list[tuple[str, str]], tokenizer: Tokenizer
) -> None:
    lengths = set()
    for (source, target), (whole, whole_target) in zip(cut(texts, tokenizer), texts, strict=True):
        phrase, translation = tokenizer.decode(source), tokenizer.decode(target)
        assert phrase in whole
        assert translation.lower() in whole_target.lower()
        assert sorted(WORDS[word] for word in phrase.split()) == sorted(translation.lower().split())
        assert translation[0].isupper() or translation.islower()
        lengths.add(len(phrase.split()))
    assert lengths == {1, 2, 3, 4}


def test_some_batches_are_cut_the_others_stay_and_all_is_repeatable(
    texts: list[tuple[str, str]], tokenizer: Tokenizer
) -> None:
    pairs = [(list(tokenizer.encode(source)), list(tokenizer.encode(target))) for source, target in texts]
    some = cut(texts, tokenizer, 0.3)
    assert some == cut(texts, tokenizer, 0.3)
    batches = [range(first, min(first + BATCH, len(pairs))) for first in range(0, len(pairs), BATCH)]
    whole = [[some[row] == pairs[row] for row in rows] for rows in batches]
    assert all(all(rows) or not any(rows) for rows in whole)
    assert 0.5 < sum(map(all, whole)) / len(whole) < 0.9


def test_a_pair_without_a_known_word_gets_the_phrase_of_another(tokenizer: Tokenizer) -> None:
    pairs = [("Hund Katze.", "dog cat.")] * 3 + [("xyz.", "zyx.")]
    phrases = cut(pairs, tokenizer)
    assert phrases[3] in phrases[:3]


def test_a_corpus_without_capitals_gets_none(texts: list[tuple[str, str]], tokenizer: Tokenizer) -> None:
    lower = [(source, target.lower()) for source, target in texts]
    assert all(tokenizer.decode(target).islower() for _, target in cut(lower, tokenizer))


def test_a_language_tag_stays_before_the_phrase(texts: list[tuple[str, str]], tokenizer: Tokenizer) -> None:
    tag = tokenizer.symbols["<ph0>"]
    with_tag, without = cut(texts, tokenizer, prefix=(tag,)), cut(texts, tokenizer)
    assert with_tag == [([tag, *source], target) for source, target in without]


@given(st.permutations(range(7)), st.integers(0, 6), st.integers(1, 7))
def test_a_phrase_is_a_block_of_the_alignment(order: list[int], first: int, count: int) -> None:
    """With every word linked, a phrase is what a square block of the permutation is (Koehn et al. 2003)."""
    last = min(7, first + count)
    source = [WordOccurrence(2 * place, 2 * place + 2, (place,)) for place in range(7)]
    target = [WordOccurrence(3 * place, 3 * place + 3, (place,)) for place in range(7)]
    links = [(source[place], target[order[place]]) for place in range(7)]
    places = order[first:last]
    block = max(places) - min(places) + 1 == last - first
    assert is_phrase(links, first, last, source, target) == block
