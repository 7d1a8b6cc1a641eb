"""Reserved symbols that training pairs get on the fly."""

import random

import numpy as np
import pytest

from multihead.data.batches import BatchStream, PairList
from multihead.data.marking import Marking
from multihead.data.word_pairs import WordFinder, learn_word_pairs
from multihead.recipe.settings import TokenizerSettings
from multihead.text.marked import MarkedTokenizer
from multihead.text.symbols import PLACEHOLDERS, TERM, TERM_END, TERM_TARGET
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

WORDS = {
    "Hund": "dog", "Katze": "cat", "Haus": "house", "Baum": "tree", "rot": "red", "grün": "green",
    "klein": "small", "groß": "big", "sieht": "sees", "neben": "beside", "Auto": "car", "Wald": "wood",
}  # fmt: skip


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    """Sentences of four to nine words, the translation in reverse order, with a name in some of them."""
    chance = random.Random(5)
    made = []
    for number in range(307):
        words = [chance.choice(list(WORDS)) for _ in range(chance.randint(4, 9))]
        target = [WORDS[word] for word in reversed(words)]
        name = [f"Nr{number}"] if number % 3 == 0 else []
        made.append((" ".join([*words, *name]) + ".", " ".join([*name, *target]) + "."))
    return made


@pytest.fixture(scope="module")
def tokenizer(texts: list[tuple[str, str]]) -> Tokenizer:
    settings = TokenizerSettings(vocab_size=420, symbols=("standard",))
    return train([side for pair in texts for side in pair], settings)


@pytest.fixture(scope="module")
def store(texts: list[tuple[str, str]], tokenizer: Tokenizer) -> PairList:
    return PairList(*(tokenizer.encode_batch([pair[side] for pair in texts]) for side in (0, 1)))


def marking(store: PairList, tokenizer: Tokenizer, rate: float = 1.0, longest: int = 99) -> Marking:
    made = Marking.of(store, (tokenizer, tokenizer), rate, 3, longest)
    assert made is not None
    return made


def marked(
    made: Marking, store: PairList, epoch: int = 0, batch: int = 7
) -> list[tuple[list[int], list[int]]]:
    found = []
    for first in range(0, len(store), batch):
        rows = range(first, min(first + batch, len(store)))
        sources, targets = made(
            [store.source(i) for i in rows], [store.target(i) for i in rows], [(epoch, i) for i in rows]
        )
        for source, target in zip(sources, targets, strict=True):
            found.append((list(map(int, source)), list(map(int, target))))
    return found


def test_word_pairs_are_learned_from_the_corpus(store: PairList, tokenizer: Tokenizer) -> None:
    words = WordFinder(tokenizer)
    found = {
        tokenizer.decode(s): tokenizer.decode(t) for s, t in learn_word_pairs(store, words, words).items()
    }
    assert found == WORDS


def test_marked_pairs_are_what_the_tokenizer_makes_of_marked_text(
    store: PairList, tokenizer: Tokenizer
) -> None:
    whole = MarkedTokenizer(tokenizer)
    for pair in marked(marking(store, tokenizer), store):
        for ids in pair:
            assert whole.encode(whole.decode(ids)) == ids


def test_placeholders_stand_for_words_that_translate_each_other(
    store: PairList, tokenizer: Tokenizer, texts: list[tuple[str, str]]
) -> None:
    whole = MarkedTokenizer(tokenizer)
    seen = 0
    for (source, target), original in zip(marked(marking(store, tokenizer), store), texts, strict=True):
        sides = whole.decode(source), whole.decode(target)
        used = [name for name in PLACEHOLDERS if name in sides[0]]
        assert used == [name for name in PLACEHOLDERS if name in sides[1]]
        for name in used:
            words = [
                side.rstrip(".").split()[text.rstrip(".").split().index(name)]
                for side, text in zip(original, sides, strict=True)
            ]
            assert WORDS.get(words[0], words[0]) == words[1]
            seen += 1
    assert seen > 100


def test_terms_stand_with_their_translation_beside_them(store: PairList, tokenizer: Tokenizer) -> None:
    whole = MarkedTokenizer(tokenizer)
    seen = 0
    for (source, target), index in zip(
        marked(marking(store, tokenizer), store), range(len(store)), strict=True
    ):
        text = whole.decode(source)
        assert text.count(TERM) == text.count(TERM_TARGET) == text.count(TERM_END)
        if TERM in text:
            assert target == list(store.target(index))
            inner = text.split(TERM)[1].split(TERM_END)[0].split(TERM_TARGET)
            word, translation = (part.strip() for part in inner)
            assert WORDS.get(word, word) == translation
            seen += 1
    assert seen > 100


def test_marks_are_a_function_of_seed_epoch_and_pair(store: PairList, tokenizer: Tokenizer) -> None:
    made = marking(store, tokenizer, rate=0.5)
    first, second = marked(made, store), marked(made, store, epoch=1)
    assert first == marked(marking(store, tokenizer, rate=0.5), store)
    assert first != second
    changed = sum(source != list(store.source(i)) for i, (source, _) in enumerate(first))
    assert 0.3 * len(store) < changed < 0.6 * len(store)
    assert marked(made, store, batch=1) != first


def test_the_pairs_of_a_batch_are_marked_together(store: PairList, tokenizer: Tokenizer) -> None:
    found = marked(marking(store, tokenizer, rate=0.3), store)
    shares = []
    for first in range(0, len(store) - 7, 7):
        rows = range(first, first + 7)
        shares.append(sum(found[i][0] != list(store.source(i)) for i in rows) / 7)
    assert all(share == 0 or share > 0.4 for share in shares)
    assert 0.15 < sum(share > 0 for share in shares) / len(shares) < 0.45


def test_a_marked_side_stays_within_the_limit(store: PairList, tokenizer: Tokenizer) -> None:
    longest = max(map(int, store.source_lengths))
    found = marked(marking(store, tokenizer, longest=longest), store)
    assert max(max(len(source), len(target)) for source, target in found) <= longest
    assert any(source != list(store.source(i)) for i, (source, _) in enumerate(found))


def test_batches_carry_the_marks(store: PairList, tokenizer: Tokenizer) -> None:
    stream = BatchStream(
        store,
        batch_tokens=211,
        seed=3,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
        mark=marking(store, tokenizer),
    )
    batch, _ = next(iter(stream))
    symbols = np.array(list(tokenizer.symbols.values()))
    assert np.isin(batch.source.ids_BS.numpy(), symbols).any()


def test_corpora_without_words_to_mark_are_left_alone(store: PairList, tokenizer: Tokenizer) -> None:
    both = tokenizer, tokenizer
    assert Marking.of(store, both, 0.0, 3, 99) is None
    plain = train(["Hund dog"], TokenizerSettings(vocab_size=300))
    assert Marking.of(store, (plain, plain), 0.1, 3, 99) is None
    apart = PairList(*(tokenizer.encode_batch([text] * 40) for text in ("rot rot", "cat cat")))
    assert Marking.of(apart, both, 0.1, 3, 99) is None
