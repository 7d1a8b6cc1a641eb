"""Trained vocabularies: size, contents, and dependence on the text alone."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Library
from tokenizers import models, trainers

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.pieces import alphabet, complete_merges, normalizer, script_pre_tokenizer
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

KINDS = ["bpe", "unigram", "wordpiece", "chars", "words", "spaced"]


def trained(kind: str, texts: list[str], size: int = 599, **more: object) -> Tokenizer:
    return train(texts, TokenizerSettings.model_validate({"kind": kind, "vocab_size": size, **more}))


def pieces(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.piece(number) for number in range(tokenizer.vocab_size)]


TRAIN = """
import sys, json
from multihead.recipe.settings import TokenizerSettings
from multihead.text.training import train
texts = json.load(open(sys.argv[1], encoding="utf-8"))
for kind in sys.argv[2:]:
    print(train(texts, TokenizerSettings(kind=kind, vocab_size=599)).fingerprint)
"""


def test_a_vocabulary_depends_on_nothing_but_the_text(sentences: list[str], tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text(json.dumps(sentences))
    printed = set()
    for seed, threads in (("1", "2"), ("2", "3")):  # here: another seed, and one thread
        environment = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        command = [sys.executable, "-c", TRAIN, str(tmp_path / "texts.json"), *KINDS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        printed.add(done.stdout)
    assert printed == {"".join(trained(kind, sentences).fingerprint + "\n" for kind in KINDS)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_does_not_depend_on_the_order_of_the_text(sentences: list[str], kind: str) -> None:
    assert trained(kind, sentences).fingerprint == trained(kind, sentences[::-1]).fingerprint


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "words"])
def test_a_vocabulary_is_as_large_as_asked_for(sentences: list[str], kind: str) -> None:
    assert trained(kind, sentences, 499).vocab_size == 499


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_ends_smaller_where_the_text_has_no_more(kind: str) -> None:
    tokenizer = trained(kind, ["eine kleine Kuh", "ein kleiner Hund"], 4001)
    assert tokenizer.vocab_size < 401
    assert tokenizer.decode(tokenizer.encode("ein kleiner Hund")) == "ein kleiner Hund"


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_size_too_small_for_the_text_is_refused_with_the_minimum(kind: str) -> None:
    texts = ["eine kleine Kuh", "ein kleiner Hund"]
    with pytest.raises(UserError, match=r"vocab_size: 3 is too small.* Set it to at least") as caught:
        trained(kind, texts, 3)
    found = re.search(r"Set it to at least (\d+)\.", str(caught.value))
    assert found
    least = int(found[1])
    assert trained(kind, texts, least).vocab_size == least
    with pytest.raises(UserError, match="too small"):
        trained(kind, texts, least - 1)


@pytest.mark.parametrize("texts", [[], [""], ["  ", "▁"]])
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_refused(kind: str, texts: list[str]) -> None:
    with pytest.raises(UserError, match="no text to train a tokenizer on"):
        trained(kind, texts)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_subwords_are_fewer_than_characters_and_frequent_words_stay_whole(
    kind: str, sentences: list[str]
) -> None:
    tokenizer = trained(kind, sentences)
    text = " ".join(sentences)
    assert len(tokenizer.encode(text)) < 0.6 * len(trained("chars", sentences).encode(text))
    most_frequent = Counter(text.split(" ")).most_common(5)
    assert all(len(tokenizer.encode(word)) == 1 for word, _ in most_frequent)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_no_piece_spans_letters_digits_punctuation_or_scripts(kind: str) -> None:
    tokenizer = trained(kind, ["abc123, API를 abc123, 日本語の한국어.", "don't"] * 97, 4001)
    mixed = re.compile(r"[a-zA-Z](?=[^a-zA-Z])|[0-9](?=[^0-9])|[가-힣](?=[^가-힣])|[,.'](?=[a-z0-9])")
    learned = pieces(tokenizer)[4 + 256 * (kind != "wordpiece") :]
    assert [piece for piece in learned if mixed.search(piece)] == []
    assert {"123", "▁abc", "▁API"} <= set(learned)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "spaced"])
def test_digits_stay_single_if_asked_for(kind: str) -> None:
    texts = ["im Jahr 1984 und 1985", "1984 1985"] * 53
    split = [piece for piece in pieces(trained(kind, texts, split_digits=True)) if re.search(r"[0-9]", piece)]
    assert sorted(piece for piece in split if not piece.startswith("<0x")) == ["1", "4", "5", "8", "9"]


@pytest.mark.parametrize("kind", KINDS)
def test_lower_case_is_part_of_the_tokenizer(kind: str) -> None:
    texts = ["Ein KLEINER Hund Äpfel", "ein kleiner hund äpfel"]
    tokenizer = train(texts, TokenizerSettings.model_validate({"kind": kind}), lowercase=True)
    assert tokenizer.decode(tokenizer.encode("Ein Kleiner HUND Äpfel")) == "ein kleiner hund äpfel"
    assert not any(piece != piece.lower() for piece in pieces(tokenizer) if not piece.startswith("<0x"))
    place = tokenizer.pieces("EIN Hund")[-1]
    assert place.end == 8


def test_rare_words_are_omitted_if_asked_for() -> None:
    texts = ["oft oft oft", "zweimal zweimal", "einmal"]
    assert pieces(trained("words", texts, min_frequency=2))[4:] == ["▁oft", "▁zweimal"]
    assert "▁einmal" not in pieces(trained("bpe", texts, min_frequency=2))
    assert "▁einmal" in pieces(trained("bpe", texts))


def test_the_most_frequent_words_come_first_and_ties_by_name() -> None:
    assert pieces(trained("words", ["b c a a", "a. c"], 7))[4:] == ["▁a", "▁c", "."]


def test_white_space_tokens_are_kept_whole() -> None:
    texts = ["a dog 's ball", "is n't it ? dog 's", "日本語の word42!"]
    tokenizer = trained("spaced", texts)
    assert sorted(pieces(tokenizer)[4:]) == sorted({f"▁{word}" for text in texts for word in text.split()})
    assert tokenizer.decode(tokenizer.encode(texts[0])) == texts[0]
    with pytest.raises(UserError, match=r"split_digits: .* does not split words"):
        trained("spaced", texts, split_digits=True)


def test_byte_pair_encoding_merges_the_most_frequent_pair_first() -> None:
    # sec. 3.2 of Sennrich et al. 2016: their toy corpus
    texts = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
    tokenizer = trained("bpe", texts, 260 + 11 + 3)
    assert pieces(tokenizer)[-3:] == ["es", "est", "lo"]


def test_very_rare_characters_are_left_to_byte_fallback() -> None:
    lines = ["ab ba" * 4001, "☃", "é"]
    assert alphabet(lines) == ["a", "b", "▁"]
    assert alphabet(lines[1:]) == ["é", "▁", "☃"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_word_mark_is_in_the_vocabulary_of_a_text_without_spaces(kind: str) -> None:
    tokenizer = trained(kind, ["abcd" * (number % 5 + 1) for number in range(4001)], 300)
    assert tokenizer.pieces("abcd")[0].text.startswith("▁")


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_no_piece_is_a_long_row_of_one_character(kind: str) -> None:
    tokenizer = trained(kind, ["=" * 97, "a" * 101] * 13, 401)
    assert 16 <= max(map(len, pieces(tokenizer))) <= 32


def test_complete_merges_are_all_splits_of_a_piece_in_order() -> None:
    assert complete_merges(["a", "b", "ab", "ba", "aba"]) == [
        ("a", "b"),
        ("b", "a"),
        ("a", "ba"),
        ("ab", "a"),
    ]


def test_unigram_pieces_are_as_good_as_those_of_the_librarys_own_trainer(multi30k: list[str]) -> None:
    tokenizer = trained("unigram", multi30k, 2003)
    library = Library(models.Unigram())
    library.normalizer = normalizer(lowercase=False)
    library.pre_tokenizer = script_pre_tokenizer(split_digits=False)
    library.train_from_iterator(multi30k, trainers.UnigramTrainer(vocab_size=2003 - 256, show_progress=False))
    ours = sum(map(len, tokenizer.encode_batch(multi30k)))
    theirs = sum(len(encoding.ids) for encoding in library.encode_batch(multi30k))
    assert ours < 1.01 * theirs


def test_wordpiece_matches_the_longest_piece_first(sentences: list[str]) -> None:
    tokenizer = trained("wordpiece", sentences)
    known = set(pieces(tokenizer))
    for word in " ".join(sentences[:97]).split(" "):
        if not word.isalpha() or not word.isascii():
            continue
        rest, wanted = "▁" + word, []
        while rest:
            wanted.append(next(rest[:end] for end in range(len(rest), 0, -1) if rest[:end] in known))
            rest = rest.removeprefix(wanted[-1])
        assert [piece.text for piece in tokenizer.pieces(word)] == wanted


@pytest.mark.parametrize("kind", ["bpe", "unigram", "chars", "words"])
def test_every_apostrophe_inside_a_word_is_read_as_the_one_of_the_corpus(kind: str) -> None:
    settings = TokenizerSettings(kind=kind, vocab_size=401, apostrophe="’")
    tokenizer = train(["l’oiseau d’ici", "aujourd’hui", "‘quoted’"] * 7, settings)
    for typed in "'ʼʻ`´′＇’":
        assert tokenizer.encode(f"aujourd{typed}hui") == tokenizer.encode("aujourd’hui")
    quoted, plain = tokenizer.encode("'oiseau'"), tokenizer.encode("’oiseau’")
    assert quoted != plain or kind == "words"  # a mark at a word's end may be a quotation mark
