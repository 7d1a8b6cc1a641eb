"""Placeholders in training pairs: what both sides share and search carries, undone without loss."""

import re
from collections.abc import Sequence

import pytest

from multihead.data.batches import Ids
from multihead.data.marking import Marking
from multihead.data.protecting import Protection
from multihead.recipe.settings import TokenizerSettings
from multihead.text.marked import MarkedTokenizer
from multihead.text.placeholder_patterns import CARRIED, find
from multihead.text.placeholders import PlaceholderEntry, PlaceholderTable, restore
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

PAIRS = [
    ("Install gtk3 from https://a.example/b now", "Installiere gtk3 von https://a.example/b jetzt"),
    ("the value 3.5 and 3.5 of libX", "der Wert 3.5 und 3.5 von libX"),
    ("version 2.0 came in 1999", "Fassung 2.0 kam im Jahr 1999"),
    ("AND or NOT", "NOT oder AND"),
    ("nothing to carry", "nichts zu tragen"),
    ("only here: gtk4", "hier nicht"),
    (" ".join(f"x{n}y" for n in range(19)), " ".join(f"x{n}y" for n in reversed(range(19)))),
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    texts = [text for pair in PAIRS for text in pair]
    return train(texts, TokenizerSettings(vocab_size=360, symbols=("standard",)))


def protect(
    tokenizer: Tokenizer, rate: float, *, longest: int = 997, changed: Sequence[str] = (), epoch: int = 0
) -> list[tuple[Ids, Ids]]:
    sources, targets = ([tokenizer.encode(pair[side]) for pair in PAIRS] for side in (0, 1))
    without = Marking(tokenizer, {}, 0.0, 1, longest)
    keys = [(epoch, number) for number in range(len(PAIRS))]
    protection = Protection(tokenizer, changed, rate, 7, longest, without)
    return list(zip(*protection(sources, targets, keys), strict=True))


def test_placeholders_stand_for_what_both_sides_share_once(tokenizer: Tokenizer) -> None:
    marked = MarkedTokenizer(tokenizer)
    texts = [(marked.decode(source), marked.decode(target)) for source, target in protect(tokenizer, 1.0)]
    assert texts[:6] == [
        ("Install <ph0> from <ph1> now", "Installiere <ph0> von <ph1> jetzt"),
        ("the value 3.5 and 3.5 of <ph0>", "der Wert 3.5 und 3.5 von <ph0>"),
        ("version <ph0> came in <ph1>", "Fassung <ph0> kam im Jahr <ph1>"),
        ("<ph0> or <ph1>", "<ph1> oder <ph0>"),
        PAIRS[4],
        PAIRS[5],
    ]
    assert "<ph15> x16y x17y x18y" in texts[6][0]  # no more symbols than the vocabulary reserves


def test_restored_they_are_the_pairs(tokenizer: Tokenizer) -> None:
    marked = MarkedTokenizer(tokenizer)
    for pair, sides in zip(PAIRS, protect(tokenizer, 1.0), strict=True):
        texts = [marked.decode(side) for side in sides]
        spans = {span.text: span for span in find(pair[0], CARRIED)}
        names = [part for part in texts[0].replace(",", " ").split() if part.startswith("<ph")]
        shared = [text for text in spans if pair[0].count(text) == pair[1].count(text) == 1]
        table = PlaceholderTable(
            tuple(PlaceholderEntry(name, spans[text]) for name, text in zip(names, shared, strict=False))
        )
        assert tuple(restore(text, table).text for text in texts) == pair


def test_a_share_of_the_draws_is_protected_and_repeats(tokenizer: Tokenizer) -> None:
    plain = protect(tokenizer, 0.0)
    assert [(tokenizer.decode(source), tokenizer.decode(target)) for source, target in plain] == PAIRS
    draws = [protect(tokenizer, 0.5, epoch=epoch) for epoch in range(40)]
    changed = sum(draw[0] != plain[0] for draw in draws)
    assert 8 <= changed <= 32
    assert draws == [protect(tokenizer, 0.5, epoch=epoch) for epoch in range(40)]


def test_what_the_corpus_changes_stays(tokenizer: Tokenizer) -> None:
    marked = MarkedTokenizer(tokenizer)
    pairs = protect(tokenizer, 1.0, changed=["identifier capitals", "word gtk3", "number"])
    assert marked.decode(pairs[0][0]) == "Install gtk3 from <ph0> now"
    assert tokenizer.decode(pairs[2][0]) == PAIRS[2][0]
    assert tokenizer.decode(pairs[3][0]) == PAIRS[3][0]


def test_both_sides_get_the_same_new_names_beside_placeholders(tokenizer: Tokenizer) -> None:
    pair = ("Flock needs gtk3, not Epiphany", "Epiphany nicht, Flock braucht gtk3")
    source, target = (tokenizer.encode(text) for text in pair)
    names = [
        f"{a}{b}ix"
        for a in "BDFGKLMNPRSTVWXZ"
        for b in ("a", "e", "i", "o", "u", "ei", "au", "oo", "ee", "ou", "y", "ai", "ia")
    ]
    protection = Protection(tokenizer, (), 0.5, 7, 997, Marking(tokenizer, {}, 0.0, 1, 997), names)
    marked, seen = MarkedTokenizer(tokenizer), set()
    for epoch in range(97):
        (first,), (second,) = protection([source], [target], [(epoch, 3)])
        texts = marked.decode(first), marked.decode(second)
        here = re.fullmatch(r"(\w+) needs (\S+), not (\w+)", texts[0])
        there = re.fullmatch(r"(\w+) nicht, (\w+) braucht (\S+)", texts[1])
        assert here
        assert there
        assert here.group(1, 2, 3) == there.group(2, 3, 1)
        assert here[2] in ("gtk3", "<ph0>")
        seen.add((here[1] == "Flock", here[2]))
    assert seen == {(True, "gtk3"), (True, "<ph0>"), (False, "gtk3"), (False, "<ph0>")}


def test_a_pair_that_would_be_too_long_stays(tokenizer: Tokenizer) -> None:
    plain = protect(tokenizer, 0.0)
    longest = max(map(len, protect(tokenizer, 1.0)[0]))
    assert protect(tokenizer, 1.0, longest=longest)[0] != plain[0]
    assert protect(tokenizer, 1.0, longest=longest - 1)[0] == plain[0]


def test_tags_before_a_source_stay_before_it(tokenizer: Tokenizer) -> None:
    tag = tokenizer.symbols["<bt>"]
    source, target = (tokenizer.encode(text) for text in PAIRS[0])
    protection = Protection(tokenizer, (), 1.0, 7, 997, Marking(tokenizer, {}, 0.0, 1, 997))
    (tagged,), (translation,) = protection([[tag, *source]], [target], [(0, 0)])
    marked = MarkedTokenizer(tokenizer)
    assert tagged[0] == tag
    assert marked.decode(tagged[1:]) == "Install <ph0> from <ph1> now"
    assert marked.decode(translation) == "Installiere <ph0> von <ph1> jetzt"
