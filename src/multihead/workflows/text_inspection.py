"""Look into a model that reads one text."""

from functools import cache
from pathlib import Path

from torch import nn

from multihead.attention_maps import Alignment, align_self
from multihead.inspect import heatmap
from multihead.inspect.page import Page, SequenceExploration, as_json, explore_text, make_page
from multihead.inspect.page.packing import Json
from multihead.inspect.text_inspection import TextInspection
from multihead.text.tokenizer import Tokenizer
from multihead.workflows.inspection import Inspection, Question


def inspection(
    reading: TextInspection, model: nn.Module, tokenizer: Tokenizer, kind: Json, question: Question
) -> Inspection:
    """Return what was seen in a text.

    Args:
        reading: the text, recorded.
        model: that read it.
        tokenizer: its vocabulary.
        kind: how its tokens look at each other, from ``page.kinds``.
        question: which layer and head, and how much.
    """
    asked = question.asked

    @cache
    def explored() -> SequenceExploration:
        return explore_text(reading, model, tokenizer, kind, asked)

    def page() -> Page:
        return make_page(explored())

    def numbers() -> str:
        return as_json(explored().listed)

    def alignment() -> Alignment:
        return align_self(
            reading.records, reading.tokens, choice=asked.choice, words=asked.words, specials=asked.specials
        )

    def draw(path: str | Path) -> None:
        heatmap(alignment(), path)

    return Inspection(page, numbers, draw, alignment)
