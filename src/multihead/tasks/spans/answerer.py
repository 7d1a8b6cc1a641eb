"""Answers to questions, as parts of a text, with a trained run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from multihead.batch import Input
from multihead.data.plan import batch_by_length
from multihead.data.text_batches import as_input
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.models.bert_spans import best_spans
from multihead.run import Run
from multihead.system import hardware
from multihead.system.hardware import Precision
from multihead.tasks.rows_alone import RowsAlone
from multihead.tasks.spans.answer_scores import AnswerScores, answer_scores
from multihead.tasks.spans.question_tables import Question, shorten
from multihead.tasks.spans.question_windows import (
    EncodedQuestion,
    Window,
    encode_question,
    window_parts,
    windows,
)
from multihead.tasks.spans.settings import DataSettings
from multihead.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: a part of its text, letter for letter.

    Attributes:
        text: the answer; "" for none.
        start: its first character in the text, counted in code points from 0; None for no answer.
        end: the character after its last; None for no answer.
        score: log odds of the best span against no answer; -inf for a text without tokens.
    """

    text: str
    start: int | None
    end: int | None
    score: float


class AnswerSpan(NamedTuple):
    """The best span of a text, by its first and its last token, and its log odds against no answer."""

    score: float
    first: int
    last: int


NO_SPAN = AnswerSpan(-float("inf"), 0, 0)


class Answerer:
    """Answers questions by parts of a text, or says that it has no answer.

    Args:
        model: a model with logits of the start and of the end of an answer.
        tokenizer: its tokenizer.
        data: how texts are divided into windows, and how long an answer may be.
        unanswerable: True if a text may have no answer; else every text with a token is given one.
        device: device of the model.
        precision: precision of matrix products.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        data: DataSettings,
        *,
        unanswerable: bool,
        device: torch.device,
        precision: Precision = "auto",
    ) -> None:
        self.model, self.tokenizer, self.data, self.device = model, tokenizer, data, device
        self._alone = RowsAlone(model, lambda rows: model(rows)[0])
        self.unanswerable = unanswerable
        self._dtype = hardware.pick_dtype(precision, device)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; trained for another task; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("spans"), hardware.pick_device(device)
        recipe = run.recipe
        unanswerable: bool = recipe.model.unanswerable  # type: ignore[attr-defined]
        model, tokenizer = run.load_model(where), run.tokenizers()[0]
        return cls(model, tokenizer, recipe.data, unanswerable=unanswerable, device=where)

    def answer(self, questions: Sequence[tuple[str, str]], *, threshold: float | None = None) -> list[Answer]:
        """Answer questions, each with its text, in order. A text without a token has no answer.

        Args:
            questions: pairs of question and text; a text may be of any length, and is read in windows.
            threshold: log odds that an answer must exceed (sec. 4.3 of the paper). None: 0, or none at all if
                the model was trained on texts that all have an answer.

        Raises:
            UserError: a question is empty.
        """
        if threshold is None:
            threshold = 0.0 if self.unanswerable else -float("inf")
        encoded = [self.encode_text(*pair, f"question {n}") for n, pair in enumerate(questions, start=1)]
        best = self.best(encoded)
        return [
            as_answer(text, each, span, threshold)
            for (_, text), each, span in zip(questions, encoded, best, strict=True)
        ]

    def encode_text(self, question: str, text: str, place: str) -> EncodedQuestion:
        """Return a question and its text in tokens. Raises ``UserError``: the question is empty."""
        found = encode_question(question, text, self.tokenizer, self.data.max_question)
        if not len(found.question):
            fact = f'the question "{shorten(question)}" has no words' if question else "no question"
            raise UserError(fact, place=place, remedy="Give a question.")
        return found

    def best(self, encoded: Sequence[EncodedQuestion]) -> list[AnswerSpan]:
        """Return the best span of each text, over all of its windows."""
        parts = [window for row, each in enumerate(encoded) for window in windows(each, row, self.data)]
        sizes = (len(encoded[row].question) + end - begin for row, begin, end in parts)
        lengths = np.fromiter(sizes, np.int32, len(parts))
        found = [NO_SPAN] * len(encoded)
        with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
            for rows in batch_by_length(np.arange(len(parts)), lengths, lengths, BATCH_TOKENS):
                chosen = [parts[row] for row in rows.tolist()]
                read = as_input([window_parts(encoded[one.row], one) for one in chosen], self.tokenizer)
                on_device = read.to(self.device)
                self._alone.compare(on_device)
                start_BN, end_BN = self.model(on_device)
                for row, span in spans(start_BN, end_BN, read, chosen, encoded, self.data.max_answer):
                    found[row] = max(found[row], span, key=lambda one: one.score)
        return found

    def measure(self, questions: Iterable[Question]) -> AnswerScores:
        """Return exact match and F1 on questions with answers.

        Raises:
            UserError: a question is empty.
        """
        given = list(questions)
        for one in given:
            self.encode_text(one.question, "", one.place)
        answers = self.answer([(one.question, one.text) for one in given])
        return answer_scores([one.text for one in answers], [one.answer for one in given])


def spans(
    start_BN: Tensor,
    end_BN: Tensor,
    read: Input,
    chosen: Sequence[Window],
    encoded: Sequence[EncodedQuestion],
    max_answer: int,
) -> Iterator[tuple[int, AnswerSpan]]:
    """Yield the number of the question of each window in a batch, and the window's best span in its text."""
    best = best_spans(start_BN.cpu(), end_BN.cpu(), read, max_answer)
    for window, score, first, last in zip(chosen, *(one.tolist() for one in best), strict=True):
        # [CLS] question [SEP] precede the window.
        shift = window.begin - len(encoded[window.row].question) - 2
        yield window.row, AnswerSpan(score, first + shift, last + shift)


def as_answer(text: str, encoded: EncodedQuestion, span: AnswerSpan, threshold: float) -> Answer:
    """Return the characters of a span, or no answer if its score is not above the threshold."""
    if span.score > threshold:
        start, end = encoded.characters_of(span.first, span.last)
        if end > start:
            return Answer(text[start:end], start, end, span.score)
    return Answer("", None, None, span.score)
