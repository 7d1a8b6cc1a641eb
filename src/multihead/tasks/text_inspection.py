"""Inspection of models that read one text."""

from functools import cache
from pathlib import Path
from typing import Protocol

from torch import nn

from multihead.inspect.heatmap import heatmap
from multihead.inspect.maps import Alignment, align_self
from multihead.inspect.page import (
    HtmlPage,
    PageOptions,
    SequenceExploration,
    as_json,
    explore_text,
    make_page,
)
from multihead.inspect.page.packing import Json
from multihead.inspect.text_inspection import TextInspection
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.text.tokenizer import Tokenizer


class _TextModel(Protocol):
    @property
    def model(self) -> nn.Module: ...
    @property
    def tokenizer(self) -> Tokenizer: ...


def inspection(
    loaded: _TextModel, reading: TextInspection, kind: Json, request: InspectionRequest
) -> Inspection:
    """Return the inspection of a text.

    Args:
        loaded: the model with its tokenizer.
        reading: the text and the recorded attention.
        kind: kind of self-attention, from ``page.kinds``.
        request: layer, head and extent of the inspection.
    """
    asked = request.asked

    @cache
    def explored() -> SequenceExploration:
        return explore_text(reading, loaded.model, loaded.tokenizer, kind, asked)

    def page() -> HtmlPage:
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


def text_page(loaded: _TextModel, inspection: TextInspection, kind: Json, full: bool) -> HtmlPage:
    """Return the page of a model's attention over a text.

    Args:
        loaded: the model with its tokenizer.
        inspection: the text with the recorded attention.
        kind: kind of self-attention, from ``inspect.page.kinds``.
        full: embed everything, whatever the size.
    """
    options = PageOptions(full=full)
    return make_page(explore_text(inspection, loaded.model, loaded.tokenizer, kind, options))
