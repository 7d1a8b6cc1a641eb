"""Inspection of a translator's attention and search."""

from functools import cache
from pathlib import Path
from typing import Any

from multihead.inspect.heatmap import heatmap
from multihead.inspect.maps import Alignment, align
from multihead.inspect.page import HtmlPage, make_page
from multihead.run import Run
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.translation.attention import record_sentence
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.page import Exploration, explore, numbers_as_json


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a sentence, the target (if any) a translation.

    The page also shows the search, which then runs in fp32. The figure alone needs neither.
    """
    options = request.asked

    def loaded(**given: Any) -> Translator:
        translator = Translator.load(run.folder, device=request.device, **given)
        several = translator.directions is not None or request.to is not None
        return translator.toward(request.to) if several else translator

    @cache
    def explored() -> Exploration:
        translator = loaded(precision="fp32")
        return explore(
            translator,
            request.input,
            request.target,
            name=options.name,
            choice=options.choice,
            words=options.words,
            specials=options.specials,
            full=options.full,
        )

    def page() -> HtmlPage:
        return make_page(explored())

    def numbers() -> str:
        return numbers_as_json(explored())

    def alignment() -> Alignment:
        if explored.cache_info().currsize:
            recording = explored().recordings[0]
        else:
            translator = loaded()
            recording = record_sentence(translator, request.input, request.target)
        return align(
            recording.records,
            recording.source,
            recording.target,
            choice=options.choice,
            words=options.words,
            specials=options.specials,
        )

    def draw(path: str | Path) -> None:
        heatmap(alignment(), path)

    return Inspection(page, numbers, draw, alignment)
