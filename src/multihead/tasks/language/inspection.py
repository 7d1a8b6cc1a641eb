"""Inspection of a language model's attention."""

from multihead.generation.text_generator import TextGenerator
from multihead.inspect.page.kinds import CAUSAL
from multihead.inspect.text_inspection import inspect_text
from multihead.run import Run
from multihead.workflows.inspection import Inspection, InspectionRequest
from multihead.workflows.text_inspection import inspection


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a text."""
    generator = TextGenerator.load(run.folder, request.device)
    reading = inspect_text(generator, request.input_alone("a language model"))
    return inspection(reading, generator.model, generator.tokenizer, CAUSAL, request)
