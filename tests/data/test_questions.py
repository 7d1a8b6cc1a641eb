"""Pairs and questions in tokens: truncation, offsets of answers, windows, generated data, broken files."""

import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.data.text_batches import truncate
from multihead.errors import UserError
from multihead.tasks.classification import same_words
from multihead.tasks.classification import settings as classification
from multihead.tasks.masked.mask_tokens import learn
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.tasks.spans import key_values
from multihead.tasks.spans.question_tables import Question
from multihead.tasks.spans.question_windows import NONE, encode_question, windows
from multihead.tasks.spans.questions import in_windows, questions_of
from multihead.tasks.spans.settings import DataSettings
from multihead.text.tokenizer import Tokenizer

WORDS = [
    "Straße",
    "ΣΊΣΥΦΟΣ",
    unicodedata.normalize("NFD", "é한국Å"),
    "𝔘𝔫𝔦",
    "👩‍👩‍👧",
    "İi",
    "x1",
    "2026",
    "ka",
    "鰯",
]


@cache
def tokenizer(kind: str, *, lowercase: bool) -> Tokenizer:
    settings = TokenizerSettings.model_validate({"kind": kind, "vocab_size": 400, "split_digits": True})
    return learn([" ".join(WORDS[:8]), "ka 17 zu 204"], settings, lowercase=lowercase)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(8, 40))
def test_a_pair_loses_tokens_of_its_longer_text(first: int, second: int, max_length: int) -> None:
    one, two = list(range(first)), list(range(100, 100 + second))
    found = truncate((np.array(one), np.array(two)), max_length)
    while len(one) + len(two) > max_length - 3:  # as the authors' code does it
        (one if len(one) > len(two) else two).pop()
    assert found[1] is not None
    assert [each.tolist() for each in found if each is not None] == [one, two]


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=9),
    st.data(),
    st.sampled_from(["wordpiece", "chars", "unigram"]),
    st.booleans(),
)
def test_the_tokens_of_an_answer_give_its_very_characters(
    words: list[str], data: st.DataObject, kind: str, lowercase: bool
) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    text = "  ".join(words)  # two spaces, which are one to the tokenizer
    start = sum(len(word) + 2 for word in words[:first])
    answer = "  ".join(words[first : last + 1])
    encoded = encode_question("ka", text, tokenizer(kind, lowercase=lowercase), 5)
    span = encoded.tokens_of(start, start + len(answer))
    assert span is not None
    begin, end = encoded.characters_of(*span)
    assert text[begin:end] == answer


@given(st.integers(1, 60), st.integers(1, 6), st.integers(0, 59), st.integers(1, 8))
def test_windows_cover_a_text_and_hold_short_answers(
    count: int, stride: int, start: int, length: int
) -> None:
    data = DataSettings(max_length=16, stride=stride, max_question=3, max_answer=8)
    encoded = encode_question("ka", "ka " * count, tokenizer("wordpiece", lowercase=False), 3)
    found = list(windows(encoded, 7, data))
    room = 16 - 3 - 1
    assert found[0].begin == 0
    assert found[-1].end == len(encoded.text) == count
    assert all(window.row == 7 and window.end - window.begin <= room for window in found)
    assert all(two.begin == one.begin + stride <= one.end for one, two in pairwise(found))
    span = (start, start + length - 1)
    inside = [window.inside(span) for window in found]
    for window, place in zip(found, inside, strict=True):
        if place != NONE:
            assert (place[0] + window.begin, place[1] + window.begin) == span
    if span[1] < count and length <= room - stride:
        assert set(inside) != {NONE}


def test_a_batch_has_the_answer_at_its_tokens_and_none_at_cls() -> None:
    data = DataSettings(max_length=16, stride=6, max_question=3)
    words = tokenizer("wordpiece", lowercase=False)
    text = "ka 17 zu 204 " + "x1 " * 9
    asked = [Question("zu", text, "204", None, "1"), Question("ka ka ka ka", text, "", None, "2")]
    found = in_windows(asked, data, words)
    batch = found.batch(np.arange(len(found.windows)), words)
    assert (batch.input.lengths_B.max() <= 16).all()
    for row in range(len(found.windows)):
        first, last = int(batch.starts_B[row]), int(batch.ends_B[row])
        answer = words.decode(batch.input.ids_BN[row, first : last + 1].tolist())
        assert answer == ("204" if found.answers[row] != NONE else "")
    assert found.answers.count(NONE) == len(found.windows) - 2  # the first two windows have it
    skipped = in_windows([asked[0], Question("zu", " ", "", None, "file:5")], data, words).skipped
    assert skipped == ["file:5"]
    with pytest.raises(UserError, match="file:6: no question"):
        in_windows([Question(" ", "ka", "", None, "file:6")], data, words)


def test_generated_pairs_have_the_same_words_or_others() -> None:
    data = classification.DataSettings(generate="same_words", length=5, generated_tests=50)
    made = list(same_words.test_pairs(data))
    for one in made:
        words, others = one.text.split(), one.second.split()
        assert len(set(words)) == len(set(others)) == 5
        assert (set(words) == set(others)) == (one.label == "same")
    assert {one.label for one in made} == {"same", "other"}
    assert made == list(same_words.test_pairs(data.model_copy(update={"seed": 99})))
    with pytest.raises(UserError, match="at most 35"):
        next(same_words.generate(data.model_copy(update={"length": 36}), 1, 1))


def test_generated_questions_have_the_entry_of_their_key() -> None:
    data = DataSettings(generate="key_values", length=5, generated_tests=50)
    made = list(key_values.test_questions(data))
    for one in made:
        entries = {entry.partition(":")[0]: entry for entry in one.text.split("; ")}
        assert one.answer == entries.get(one.question, "")
        assert (one.start is None) == (not one.answer)
        assert one.text.startswith(one.answer, one.start)
    assert {bool(one.answer) for one in made} == {True, False}
    assert made == list(key_values.test_questions(data.model_copy(update={"seed": 99})))
    with pytest.raises(UserError, match="at most 69"):
        next(key_values.generate(data.model_copy(update={"length": 70}), 1, 1))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("question\ttext\nka\tka 1", r'1: no column "answer" in the header.*--data\.answer_field'),
        ("question\ttext\tanswer\nka\tka 1", "2: 2 columns, but the header has 3"),
        ("question\ttext\tanswer\n\nka\tka 1\t2", '3: the answer "2" is not in the text'),
        ("question\ttext\tanswer\n \tka 1\t1", "2: no question"),
        ("question\ttext\tanswer\nka\tka 1 1\t1", '2: the answer "1" occurs several times.*column start'),
        ("question\ttext\tanswer\tstart\nka\tka 1 1\t1\t4", "does not begin at character 4"),
        ("question\ttext\tanswer\tstart\nka\tka 1 1\t1\t-3", 'the start "-3" is not a whole number'),
        ("question\ttext\tanswer\tstart\nka\tka 1 1\t1\t", "occurs several times"),
        ("", "the file is empty"),
    ],
)
def test_a_broken_file_of_questions_is_a_clear_error(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "broken.tsv").write_text(lines, encoding="utf-8")
    data = DataSettings(dir=str(tmp_path))
    with pytest.raises(UserError, match=rf"broken\.tsv.*{message}"):
        in_windows(list(questions_of(data, ["broken.tsv"])), data, tokenizer("chars", lowercase=False))


def test_windows_that_would_skip_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="stride 8 is more than the 7 tokens"):
        DataSettings(max_length=16, stride=8, max_question=6)
