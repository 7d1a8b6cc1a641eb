"""Inspection of a language model's attention."""

from multihead.inspect.page.kinds import CAUSAL
from multihead.run import Run
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.language.attention import inspect_text
from multihead.tasks.language.text_generator import TextGenerator
from multihead.tasks.text_inspection import inspection


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a text."""
    generator = TextGenerator.load(run.folder, request.device)
    reading = inspect_text(generator, request.input_alone("a language model"))
    return inspection(reading, generator.model, generator.tokenizer, CAUSAL, request)
