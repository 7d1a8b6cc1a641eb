"""Attention between a question and a text, with the answer."""

import math

from multihead.errors import UserError
from multihead.inspect.phrases import phrase
from multihead.inspect.text_inspection import (
    BEYOND_LIMIT,
    SEPARATOR,
    Predictions,
    TextInspection,
    inspect_encoder,
)
from multihead.tasks.spans.answerer import Answer, Answerer
from multihead.tasks.spans.question_windows import window_parts, windows

NO_ANSWER = "(none)"


def inspect_answer(answerer: Answerer, question: str, text: str) -> TextInspection:
    """Record the attention between a question and a text, and the answer in it.

    Args:
        answerer: the model.
        question: the question.
        text: truncated to the first window that the model reads.

    Raises:
        UserError: question or text has no words.
    """
    encoded = answerer.encode_text(question, text, "question")
    window = next(windows(encoded, 0, answerer.data), None)
    if window is None:
        raise UserError("the text has no words", place="text", remedy="Give a text.")
    (answer,) = answerer.answer([(question, text)])
    omitted = (phrase(BEYOND_LIMIT, window.end, len(encoded.text)),)
    return inspect_encoder(
        answerer.model,
        answerer.tokenizer,
        f"{question}{SEPARATOR}{text}",
        window_parts(encoded, window),
        (),
        (Predictions("answer", {answer.text or NO_ANSWER: _probability(answer)}),),
        answerer.device,
        omitted if window.end < len(encoded.text) else (),
    )


def _probability(answer: Answer) -> float:
    """Return the probability of the output, where the choice is between the best span and no answer."""
    odds = answer.score if answer.text else -answer.score
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, odds))))
