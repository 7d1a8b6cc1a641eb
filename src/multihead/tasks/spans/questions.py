"""Preparation of questions for training: files, or generated ones, in tokens and in windows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multihead.batch import SpanBatch
from multihead.data.plan import Indices, Lengths
from multihead.errors import UserError
from multihead.system.progress import OnProgress
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.tasks.spans import key_values
from multihead.tasks.spans.question_tables import Question, answer_start, read_questions
from multihead.tasks.spans.question_windows import (
    NONE,
    EncodedQuestion,
    Window,
    encode_question,
    span_batch,
    window_parts,
    windows,
)
from multihead.tasks.spans.settings import DataSettings
from multihead.tasks.text_examples import fingerprint, prepare_tokenizer, training_and_validation
from multihead.text.tokenizer import Tokenizer

VERSION = 2
"""Increases when the same questions are prepared differently."""
PLACES = 3
"""Skipped questions whose places are recorded."""


@dataclass(frozen=True)
class Questions:
    """Questions in tokens, and the windows of their texts.

    Attributes:
        given: the questions.
        encoded: question and text of each in tokens.
        windows: windows of all texts, in order.
        answers: first and last token of the answer in each window, ``NONE`` without.
        skipped: places of questions that were left out: texts without a token, answers in no window.
    """

    given: Sequence[Question]
    encoded: Sequence[EncodedQuestion]
    windows: Sequence[Window]
    answers: Sequence[tuple[int, int]]
    skipped: Sequence[str]

    def lengths(self) -> Lengths:
        """Return the length of each window with its question in tokens, (W,)."""
        sizes = (len(self.encoded[row].question) + end - begin for row, begin, end in self.windows)
        return np.fromiter(sizes, np.int32, len(self.windows))

    def batch(self, rows: Indices, tokenizer: Tokenizer) -> SpanBatch:
        """Collate windows."""
        chosen = [self.windows[row] for row in rows.tolist()]
        parts = [window_parts(self.encoded[window.row], window) for window in chosen]
        return span_batch(parts, [self.answers[row] for row in rows.tolist()], tokenizer)


@dataclass(frozen=True)
class PreparedQuestions:
    """Questions, prepared for training.

    Attributes:
        train: training questions.
        valid: validation questions.
        tokenizer: the tokenizer.
        unanswerable: number of training questions without an answer.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: Questions
    valid: Questions
    tokenizer: Tokenizer
    unanswerable: int
    fingerprint: str


def questions_of(data: DataSettings, names: Sequence[str]) -> Iterator[Question]:
    """Yield the questions of files that the settings name."""
    fields = {key: getattr(data, key) for key in FIELDS}
    for name in names:
        yield from read_questions(Path(data.dir) / name, fields, data.encoding)


FIELDS = ("question_field", "text_field", "answer_field", "start_field")


def prepare_questions(
    data: DataSettings,
    settings: TokenizerSettings,
    *,
    progress: OnProgress,
    init_tokenizer: Tokenizer | None = None,
) -> PreparedQuestions:
    """Hold out validation questions, train the tokenizer, encode and divide into windows.

    Args:
        data: the files, or the generated questions.
        settings: the tokenizer to train.
        progress: called with the progress of each stage.
        init_tokenizer: tokenizer of a trained model, used instead of training one.

    Raises:
        UserError: no files named, an unreadable file, a broken line, an answer that is not in its text or
            occurs several times, or no question left.
    """
    progress("reading", 0, None)
    train, valid = training_and_validation(data, questions_of, key_values.generate, lambda one: one.text)
    texts = (text for one in train for text in (one.question, one.text))
    tokenizer = prepare_tokenizer(
        texts, settings, init_tokenizer, lowercase=data.lowercase, progress=progress
    )
    progress("encoding", 0, None)
    prepared = PreparedQuestions(
        in_windows(train, data, tokenizer),
        in_windows(valid, data, tokenizer),
        tokenizer,
        sum(not one.answer for one in train),
        fingerprint(VERSION, data, tokenizer, unused=["max_answer"]),
    )
    for name, some in (("training", prepared.train), ("validation", prepared.valid)):
        if not some.windows:
            remedy = "Check the files, and data.valid_fraction."
            raise UserError(f"no question for {name}", place="data", remedy=remedy)
    return prepared


def in_windows(questions: Sequence[Question], data: DataSettings, tokenizer: Tokenizer) -> Questions:
    """Return questions in tokens and windows. What cannot be learned from is left out, and its place kept.

    Raises:
        UserError: a question without tokens; an answer that occurs several times.
    """
    given: list[Question] = []
    encoded: list[EncodedQuestion] = []
    found: list[Window] = []
    answers: list[tuple[int, int]] = []
    skipped: list[str] = []
    for one in questions:
        each = encode_question(one.question, one.text, tokenizer, data.max_question)
        if not len(each.question):
            raise UserError("no question", place=one.place, remedy="Correct the line, or remove it.")
        span = None
        if one.answer:
            start = answer_start(one)
            span = each.tokens_of(start, start + len(one.answer))
        own = list(windows(each, len(given), data))
        inside = [window.inside(span) for window in own]
        if not own or (one.answer and set(inside) == {NONE}):
            skipped.append(one.place)
            continue
        given.append(one)
        encoded.append(each)
        found += own
        answers += inside
    return Questions(given, encoded, found, answers, skipped)
