"""The number corpus of the quickstart."""

import subprocess
import sys
from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.text import numbers
from multihead.text.cleaning import rejection_reason
from multihead.text.corpus import read_pairs
from multihead.text.numbers import (
    HELD_OUT,
    PAIRS,
    SAMPLES,
    TEST,
    TRAIN,
    VALID,
    NumberCorpus,
    make,
    write_files,
)
from multihead.text.training import train

VOCAB_SIZES = {"de-en": 380, "ko-en": 372}
"""Vocabulary sizes of the recipes, at which numerals stay split: "zwei und vier zig", "사 십 이"."""
COMPOUNDS = {"de-en": ("zweiundvierzig", "forty-two"), "ko-en": ("사십이", "forty-two")}


@pytest.fixture(scope="module", params=PAIRS)
def corpus(request: pytest.FixtureRequest) -> NumberCorpus:
    return make(request.param, 1)


def test_no_number_occurs_twice_or_in_two_splits(corpus: NumberCorpus) -> None:
    together = [*corpus.train, *corpus.valid, *corpus.test]
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (TRAIN, VALID, TEST)
    assert len({source for source, _ in together}) == len({target for _, target in together}) == len(together)


def test_the_samples_are_in_the_test_set_and_never_in_training(corpus: NumberCorpus) -> None:
    source, target = COMPOUNDS[corpus.pair]
    assert corpus.test[0] == (source, target)
    assert len(corpus.test[: len(SAMPLES)]) == 10
    assert not any(source in text for text, _ in corpus.train)
    assert not any(target in text for _, text in corpus.train)


def test_held_out_compounds_never_occur_in_training_but_their_parts_do(corpus: NumberCorpus) -> None:
    targets = [target for _, target in corpus.train]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    units = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    seen = {
        f"{ten}-{unit}" for ten in tens for unit in units if any(f"{ten}-{unit}" in text for text in targets)
    }
    missing = {f"{ten}-{unit}" for ten in tens for unit in units} - seen
    assert missing == {f"{tens[number // 10 - 2]}-{units[number % 10 - 1]}" for number in HELD_OUT}
    assert len({number // 10 for number in HELD_OUT}) == len({number % 10 for number in HELD_OUT}) == 8


def test_training_covers_every_small_number_and_a_sample_of_the_large_ones(corpus: NumberCorpus) -> None:
    targets = {target for _, target in corpus.train}
    assert {"zero", "one", "twelve", "twenty", "thirty-three", "ninety-nine"} <= targets
    thousands = [target for target in targets if " thousand" in target]
    assert len(targets) / 2 < len(thousands) < len(targets)


def test_the_test_set_has_numbers_of_all_lengths(corpus: NumberCorpus) -> None:
    thousands = sum(" thousand" in target for _, target in corpus.test)
    assert 0.6 < thousands / TEST < 0.9


def test_every_pair_passes_cleaning(corpus: NumberCorpus) -> None:
    assert {rejection_reason(*pair, DataSettings()) for pair in corpus.train} == {None}


def test_numerals_are_segmented_into_meaningful_subwords(corpus: NumberCorpus) -> None:
    settings = TokenizerSettings.model_validate({"vocab_size": VOCAB_SIZES[corpus.pair]})
    tokenizer = train((text for pair in corpus.train for text in pair), settings)
    source, target = ([piece.text for piece in tokenizer.pieces(text)] for text in COMPOUNDS[corpus.pair])
    wanted = {"de-en": ["▁", "zwei", "und", "vier", "zig"], "ko-en": ["▁사", "십", "이"]}
    assert source == wanted[corpus.pair]
    assert target[:2] == ["▁forty", "-"]
    assert "".join(target[2:]) == "two"
    assert not any(
        tokenizer.unk_id in ids for ids in tokenizer.encode_batch([text for text, _ in corpus.test])
    )


def test_files_are_written_and_read_again(corpus: NumberCorpus, tmp_path: Path) -> None:
    write_files(corpus, tmp_path / "new" / "folder")
    data = DataSettings.model_validate({"dir": str(tmp_path / "new" / "folder")})
    source, target = corpus.pair.split("-")
    for part, pairs in {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}.items():
        assert list(read_pairs(data, [f"{part}.{source}"], [f"{part}.{target}"])) == pairs


def test_a_corpus_is_a_function_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
from multihead.text import numbers
numbers.TRAIN, numbers.VALID, numbers.TEST = 101, 3, 13
for seed in (2, 3):
    print(numbers.make("ko-en", seed))
"""
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    ]
    assert printed[0] == printed[1]
    for name, size in {"TRAIN": 101, "VALID": 3, "TEST": 13}.items():
        monkeypatch.setattr(numbers, name, size)
    assert printed[0] == f"{make('ko-en', 2)}\n{make('ko-en', 3)}\n"
    assert make("ko-en", 2) != make("ko-en", 3)


def test_an_unknown_pair_is_refused() -> None:
    with pytest.raises(UserError, match=r"no number words for 'fr-en'\. Choose de-en or ko-en"):
        make("fr-en", 1)


@pytest.mark.parametrize(
    ("language", "number", "words"),
    [
        ("en", 342_091, "three hundred and forty-two thousand and ninety-one"),
        ("en", 1234, "one thousand, two hundred and thirty-four"),
        ("de", 101_001, "einhunderteintausendeins"),
        ("de", 57_024, "siebenundfünfzigtausendvierundzwanzig"),
        ("ko", 12_345, "만 이천삼백사십오"),
        ("ko", 110_101, "십일만 백일"),
        ("ko", 0, "영"),
    ],
)
def test_numbers_are_spelled_as_by_a_native_writer(language: str, number: int, words: str) -> None:
    assert numbers.WORDS[language](number) == words
