"""Inspection of a tagger's attention."""

from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.tagging.attention import inspect_tagging
from multihead.tasks.tagging.tagger import Tagger
from multihead.tasks.text_inspection import inspection


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a sentence of white-space separated words."""
    tagger = Tagger.load(run.folder, request.device)
    reading = inspect_tagging(tagger, request.input_alone("a tagger"))
    return inspection(reading, tagger.model, tagger.tokenizer, BIDIRECTIONAL, request)
