"""A lexicon learned from sentence pairs: right pairs, a bounded file, damage refused."""

import json
import random
from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.text import lexicon
from multihead.text.lexicon import NAME, Lexicon, translations

WORDS = {"hund": "dog", "katze": "cat", "rot": "red", "ein": "a", "läuft": "runs", "schläft": "sleeps"}


def pairs(count: int) -> list[tuple[str, str]]:
    chance = random.Random(1)
    found = []
    for _ in range(count):
        words = chance.sample(sorted(WORDS), 3)
        mixed = chance.sample(words, 3)
        found.append((" ".join(words).capitalize() + ".", " ".join(WORDS[word] for word in mixed) + " ."))
    return found


def test_words_that_translate_each_other_have_the_largest_weight() -> None:
    found = Lexicon.learn(pairs(211))
    for source, target in WORDS.items():
        best = max(WORDS.values(), key=lambda word: found.weight(source, word))
        assert best == target
        assert found.weight(source, target) > 0.7
    assert found.weight(".", ".") > 0.5
    assert found.weight("HUND", "Dog") == found.weight("hund", "dog")
    assert found.weight("hund", "nowhere") == 0.0


def test_probabilities_of_a_source_word_sum_to_1() -> None:
    table = translations([[0, 1], [1, 2], [0], []], [[0, 1], [1], [0], [2]])
    for word in (0, 1, 2):
        assert table.probability[table.source == word].sum() == pytest.approx(1)
    best = {s: t for s, t, p in zip(*map(list, table), strict=True) if p > 0.5}
    assert best[0] == 0


def test_nothing_is_learned_from_nothing() -> None:
    assert len(translations([], []).probability) == 0
    assert len(Lexicon.learn([])) == len(Lexicon.learn([("", "a")])) == 0


def test_only_the_largest_weights_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "MOST", 5)
    found = Lexicon.learn(pairs(211))
    assert len(found) == 5
    assert all(
        weight > 0.7 for own in json.loads(found.to_json())["weights"].values() for weight in own.values()
    )


def test_a_stored_lexicon_is_the_same(tmp_path: Path) -> None:
    found = Lexicon.learn(pairs(101))
    (tmp_path / NAME).write_text(found.to_json(), encoding="utf-8")
    assert Lexicon.load(tmp_path).to_json() == found.to_json()
    assert len(Lexicon.load(tmp_path / "elsewhere")) == 0


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": 2, "weights": {}}',
        '{"format": 1, "weights": {"a": {"b": 1.5}}}',
        '{"format": 1, "weights": {"a": {"b": NaN}}}',
        '{"format": 1, "weights": [1]}',
        "[" * 9999,
    ],
)
def test_a_damaged_lexicon_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"lexicon\.json: damaged"):
        Lexicon.load(tmp_path)
