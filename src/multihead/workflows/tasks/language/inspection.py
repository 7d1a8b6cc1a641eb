"""Inspection of a language model's attention."""

from multihead.generation.text_generator import TextGenerator
from multihead.inspect.page.kinds import CAUSAL
from multihead.inspect.text_inspection import inspect_text
from multihead.run import Run
from multihead.workflows.inspection import Inspection, InspectionRequest
from multihead.workflows.text_inspection import inspection


def inspect(run: Run, question: Question) -> Inspection:
    """See ``workflows.tasks.inspect``: a text, every token of which looks back at those before it."""
    writer = TextGenerator.load(run.folder, question.device)
    reading = inspect_text(writer, question.without_target("a language model"))
    return inspection(reading, writer.model, writer.tokenizer, CAUSAL, question)
