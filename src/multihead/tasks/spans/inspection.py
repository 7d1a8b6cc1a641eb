"""Inspection of the attention between a question and a text."""

from multihead.errors import UserError
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.spans.answerer import Answerer
from multihead.tasks.spans.attention import inspect_answer
from multihead.tasks.text_inspection import inspection


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a question and a text with a tab between them."""
    given = request.input_alone("a model of answers")
    question, tab, text = given.partition("\t")
    if not tab:
        remedy = "Give a question and a text with a tab between them."
        raise UserError("one text, but the model reads a question and a text", place="text", remedy=remedy)
    answerer = Answerer.load(run.folder, request.device)
    reading = inspect_answer(answerer, question, text)
    return inspection(reading, answerer.model, answerer.tokenizer, BIDIRECTIONAL, request)
