"""Questions and texts in tokens: the characters of each token, windows of long texts, batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.batch import SpanBatch
from multihead.data.text_batches import SPECIALS, Parts, as_input
from multihead.tasks.spans.settings import DataSettings
from multihead.text.tokenizer import Piece, Tokenizer

NONE = (-1, -1)
"""The answer of a window that has none."""


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question and its text in tokens.

    Attributes:
        question: tokens of the question.
        text: tokens of the text, (N,).
        characters_N2: the first character of each token of the text, and the one after the last.
    """

    question: NDArray[np.int32]
    text: NDArray[np.int32]
    characters_N2: NDArray[np.int32]

    def tokens_of(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first and the last token of ``text[start:end]``, whole tokens; None if it has none."""
        starts_N, ends_N = self.characters_N2.T
        inside = np.flatnonzero((starts_N < end) & (ends_N > start) & (ends_N > starts_N))
        return (int(inside[0]), int(inside[-1])) if len(inside) else None

    def characters_of(self, first: int, last: int) -> tuple[int, int]:
        """Return the first character of tokens, and the one after the last."""
        covered_N2 = self.characters_N2[first : last + 1]
        return int(covered_N2[:, 0].min()), int(covered_N2[:, 1].max())


class Window(NamedTuple):
    """A part of a text that is read with its question.

    Attributes:
        row: number of the question.
        begin: first token of the part.
        end: the token after its last.
    """

    row: int
    begin: int
    end: int

    def inside(self, span: tuple[int, int] | None) -> tuple[int, int]:
        """Return a span's first and last token, counted in the window; ``NONE`` unless both lie in it."""
        if span is None or span[0] < self.begin or span[1] >= self.end:
            return NONE
        return span[0] - self.begin, span[1] - self.begin


def encode_question(question: str, text: str, tokenizer: Tokenizer, max_question: int) -> EncodedQuestion:
    """Return a question, truncated to ``max_question`` tokens, and its text in tokens."""
    pieces = tokenizer.pieces(text)
    return EncodedQuestion(
        np.array(tokenizer.encode(question)[:max_question], np.int32),
        np.array([piece.id for piece in pieces], np.int32),
        np.array(_characters(pieces, text), np.int32).reshape(-1, 2),
    )


def _characters(pieces: Sequence[Piece], text: str) -> list[tuple[int, int]]:
    """Return the characters of each token; those that no token covers belong to the one before.

    The tokenizers library gives a letter that normalisation composes the place of its first character alone.
    """
    found = []
    for number, piece in enumerate(pieces, start=1):
        end, following = piece.end, pieces[number].start if number < len(pieces) else len(text)
        while piece.start < end < following and not text[end].isspace():
            end += 1
        found.append((piece.start, end))
    return found


def windows(encoded: EncodedQuestion, row: int, data: DataSettings) -> Iterator[Window]:
    """Yield the windows of a text, ``data.stride`` tokens apart (Devlin et al.'s code, run_squad.py)."""
    room = data.max_length - SPECIALS - len(encoded.question)
    for begin in range(0, len(encoded.text), data.stride):
        end = min(begin + room, len(encoded.text))
        yield Window(row, begin, end)
        if end == len(encoded.text):
            return


def window_parts(encoded: EncodedQuestion, window: Window) -> Parts:
    """Return question and part of the text, the two segments of an input."""
    return encoded.question, encoded.text[window.begin : window.end]


def span_batch(parts: Sequence[Parts], answers: Sequence[tuple[int, int]], tokenizer: Tokenizer) -> SpanBatch:
    """Collate windows with their answers: first and last token within the window, or ``NONE``."""
    read = as_input(parts, tokenizer)
    # [CLS] question [SEP] precede the text; [CLS] itself, 0, stands for no answer.
    before_B = np.array([len(question) + 2 for question, _ in parts])
    answers_B2 = np.array(answers, np.int64).reshape(-1, 2)
    places_B2 = np.where(answers_B2 < 0, 0, answers_B2 + before_B[:, None])
    starts_B, ends_B = torch.from_numpy(places_B2).unbind(1)
    return SpanBatch(read, starts_B, ends_B, int(read.lengths_B.sum()))
