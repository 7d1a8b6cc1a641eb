"""BPE-dropout: its distribution, and its dependence on seed and key alone."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text import bpe_dropout
from multihead.text.bpe_dropout import VARIANTS, BPEDropout, Merges, merge
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train


@pytest.fixture(scope="module")
def tokenizer(sentences: list[str]) -> Tokenizer:
    return train(sentences, TokenizerSettings.model_validate({"vocab_size": 599}))


ODD = ["", "😀 뷁", "a  b", "</s> <0x41>", "x" * 501, "\u2028", "▁"]


def test_vanishing_dropout_equals_the_tokenizer(tokenizer: Tokenizer, sentences: list[str]) -> None:
    dropout = BPEDropout(tokenizer, 1e-12, seed=3)
    for text in [*sentences[:401], *ODD]:
        assert dropout.encode(text, 5) == tokenizer.encode(text)


def test_no_dropout_changes_nothing(tokenizer: Tokenizer, sentences: list[str]) -> None:
    dropout = BPEDropout(tokenizer, 0, seed=3)
    assert dropout.encode_batch(sentences[:7], [[1]] * 7) == tokenizer.encode_batch(sentences[:7])


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=31), key=st.integers(0, 1 << 70))
def test_the_text_stays_the_same(tokenizer: Tokenizer, text: str, key: int) -> None:
    ids = BPEDropout(tokenizer, 0.3, seed=3).encode(text, key)
    assert tokenizer.decode(ids) == tokenizer.normalize(text)


def test_a_segmentation_is_a_function_of_seed_and_key(
    tokenizer: Tokenizer, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpe_dropout, "_CACHE_SIZE", 11)  # emptied all the time
    texts = [*sentences[:97], *ODD]
    keys = [(7, number) for number in range(len(texts))]
    one, other = BPEDropout(tokenizer, 0.3, seed=3), BPEDropout(tokenizer, 0.3, seed=3)
    found = one.encode_batch(texts, keys)
    assert found == one.encode_batch(texts, keys)
    backwards = [other.encode(text, *key) for text, key in zip(texts[::-1], keys[::-1], strict=True)]
    assert found == backwards[::-1]
    assert found != BPEDropout(tokenizer, 0.3, seed=4).encode_batch(texts, keys)
    assert found != one.encode_batch(texts, [(8, number) for _, number in keys])


def test_a_segmentation_is_the_same_in_every_process(
    tokenizer: Tokenizer, sentences: list[str], tmp_path: Path
) -> None:
    tokenizer.save(tmp_path / "t.json")
    code = """
import sys
from multihead.text.bpe_dropout import BPEDropout
from multihead.text.tokenizer import Tokenizer
print(BPEDropout(Tokenizer.load(sys.argv[1]), 0.3, 3).encode(sys.argv[2], 5, 7))
"""
    text = " ".join(sentences[:7])
    command = [sys.executable, "-c", code, str(tmp_path / "t.json"), text]
    done = subprocess.run(command, env={"PYTHONHASHSEED": "5"}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{BPEDropout(tokenizer, 0.3, 3).encode(text, 5, 7)}\n"


def test_stored_ids_are_reencoded_like_their_text(tokenizer: Tokenizer, sentences: list[str]) -> None:
    dropout = BPEDropout(tokenizer, 0.3, seed=3)
    texts = ["", *sentences[:31], "", *ODD, ""]
    keys = [(11, number) for number in range(len(texts))]
    ids, wanted = tokenizer.encode_batch(texts), dropout.encode_batch(texts, keys)
    for sequences in (
        ids,
        [np.array(one, np.uint16) for one in ids],
        [np.array(one, np.int64) for one in ids],
    ):
        again = dropout.reencode(sequences, keys)
        assert [one.tolist() for one in again] == wanted
    assert dropout.reencode([], []) == []


def exact(letters: tuple[int, ...], merges: Merges, p: float) -> Counter[tuple[int, ...]]:
    """The distribution of algorithm 1, by enumerating all subsets of dropped merges at every step."""
    places = [place for place in range(len(letters) - 1) if letters[place : place + 2] in merges]
    found: Counter[tuple[int, ...]] = Counter()
    for subset in range(1 << len(places)):
        left = [place for bit, place in enumerate(places) if not subset >> bit & 1]
        chance = p ** (len(places) - len(left)) * (1 - p) ** len(left)
        if not left:
            found[letters] += chance  # type: ignore[assignment]
            continue
        place = min(left, key=lambda at: (merges[letters[at], letters[at + 1]][0], at))
        merged = merges[letters[place], letters[place + 1]][1]
        for end, more in exact((*letters[:place], merged, *letters[place + 2 :]), merges, p).items():
            found[end] += chance * more  # type: ignore[assignment]
    return found


def test_segmentations_are_distributed_as_in_the_papers_algorithm() -> None:
    # letters 0, 1; pieces 2 = 01, 3 = 11, 5 = 011 in two ways, 6 = 0110 by (5, 2)
    merges: Merges = {(0, 1): (0, 2), (1, 1): (1, 3), (2, 1): (2, 5), (0, 3): (3, 5), (5, 2): (4, 6)}
    letters, p, times = (0, 1, 1, 0, 1), 0.3, 20_011
    generator = random.Random(7)
    uniform = iter(generator.random, None)
    seen = Counter(tuple(merge(letters, merges, p, uniform)) for _ in range(times))
    wanted = exact(letters, merges, p)
    assert sum(wanted.values()) == pytest.approx(1)
    assert set(seen) <= set(wanted)
    assert len(wanted) > 5
    for pieces, chance in wanted.items():
        spread = 4 * (chance * (1 - chance) / times) ** 0.5
        assert abs(seen[pieces] / times - chance) < spread


def test_merges_are_dropped_at_the_given_rate() -> None:
    words = [a + b for a in "abcdefghijklm" for b in "nopqrstuvwxyz"]
    tokenizer = train(words, TokenizerSettings.model_validate({"vocab_size": 4001}))
    merged = BPEDropout(tokenizer, 0.25, seed=3)
    lengths = Counter(len(merged.encode(word, key)) for word in words for key in range(53))
    # "▁" + a + b has two merges in a row: both made, the first only, or none
    wanted = {1: 0.75 * 0.75, 2: 0.75 * 0.25, 3: 0.25}
    total = lengths.total()
    for length, chance in wanted.items():
        assert lengths[length] / total == pytest.approx(chance, abs=0.06)


def test_positions_and_keys_choose_uniformly_among_the_variants_of_a_word(tokenizer: Tokenizer) -> None:
    chosen: Counter[int] = Counter()
    dropout = BPEDropout(tokenizer, 0.5, seed=3)
    dropout._segment = lambda word, variant: chosen.update([variant]) or word  # type: ignore[method-assign]
    ids = np.array(tokenizer.encode("ta la " * 53), np.uint32)
    dropout.reencode([ids] * 31, [(1, number) for number in range(31)])
    count = 2 * 53 * 31
    assert set(chosen) == set(range(VARIANTS))
    assert (
        sum((seen - count / VARIANTS) ** 2 for seen in chosen.values()) / (count / VARIANTS) < 70
    )  # chi squared


def test_a_very_long_word_does_not_take_quadratic_time(tokenizer: Tokenizer) -> None:
    text = "tadanga" * 3001
    assert tokenizer.decode(BPEDropout(tokenizer, 0.1, seed=3).encode(text, 1)) == text


@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "words"])
def test_other_tokenizers_are_refused(sentences: list[str], kind: str) -> None:
    other = train(sentences, TokenizerSettings.model_validate({"kind": kind, "vocab_size": 599}))
    with pytest.raises(UserError, match=r'tokenizer\.dropout: .* plain BPE tokenizer.*kind to "bpe"'):
        BPEDropout(other, 0.1, seed=3)


def test_a_vocabulary_from_elsewhere_may_lack_characters(tokenizer: Tokenizer, sentences: list[str]) -> None:
    """As the tokenizers library writes it: special tokens outside the vocabulary, some characters missing."""
    content = json.loads(tokenizer.to_json())
    vocab = content["model"]["vocab"]
    added = [symbol["content"] for symbol in content["added_tokens"]]
    gone = next(piece for piece in vocab if len(piece) == 1 and piece.isalpha())
    left = [piece for piece in sorted(vocab, key=vocab.__getitem__) if piece not in (gone, *added)]
    content["model"]["vocab"] = {piece: number for number, piece in enumerate(left, start=len(added))}
    content["model"]["merges"] = [
        pair for pair in content["model"]["merges"] if gone not in pair and not set(added) & {*pair}
    ]
    content["model"]["unk_token"] = None
    content["model"]["byte_fallback"] = False
    other = Tokenizer.from_json(json.dumps(content))
    dropout = BPEDropout(other, 0.3, seed=3)
    texts = [text.replace(gone, "") for text in sentences[:53]]
    for text in texts:
        assert other.decode(dropout.encode(text, 1)) == other.decode(other.encode(text))
