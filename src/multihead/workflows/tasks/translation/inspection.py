"""Look into a translator with a sentence."""

from functools import cache
from pathlib import Path

from multihead.attention_maps import Alignment, align
from multihead.generation import Translator
from multihead.inspect import heatmap, record_sentence
from multihead.inspect.page import Exploration, Page, explore, make_page, numbers_as_json
from multihead.run import Run
from multihead.workflows.inspection import Inspection, Question


def inspect(run: Run, question: Question) -> Inspection:
    """See ``workflows.tasks.inspect``.

    The page shows the search too, which is then made in fp32 throughout; a picture alone needs neither.
    """
    asked = question.asked

    @cache
    def explored() -> Exploration:
        translator = Translator.load(run.folder, device=question.device, precision="fp32")
        return explore(
            translator,
            question.what,
            question.target,
            name=asked.name,
            choice=asked.choice,
            words=asked.words,
            specials=asked.specials,
            full=asked.full,
        )

    def page() -> Page:
        return make_page(explored())

    def numbers() -> str:
        return numbers_as_json(explored())

    def alignment() -> Alignment:
        if explored.cache_info().currsize:
            recording = explored().recordings[0]
        else:
            translator = Translator.load(run.folder, device=question.device)
            recording = record_sentence(translator, question.what, question.target)
        return align(
            recording.records,
            recording.source,
            recording.target,
            choice=asked.choice,
            words=asked.words,
            specials=asked.specials,
        )

    def draw(path: str | Path) -> None:
        heatmap(alignment(), path)

    return Inspection(page, numbers, draw, alignment)
