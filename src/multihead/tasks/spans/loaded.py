"""Models of answers as ``multihead.load`` returns them, and the inspection of their attention."""

from multihead.errors import UserError
from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.spans.answerer import Answerer
from multihead.tasks.spans.attention import inspect_answer
from multihead.tasks.text_inspection import inspection, text_page


class LoadedAnswerer(ListsMethods, Answerer):
    """Model that answers questions by parts of a text, with inspection of its attention."""

    def inspect(self, question: str, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a question and a text, with the answer.

        Raises:
            UserError: question or text has no words.
        """
        return text_page(self, inspect_answer(self, question, text), BIDIRECTIONAL, full)


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a question and a text with a tab between them."""
    given = request.input_alone("a model of answers")
    question, tab, text = given.partition("\t")
    if not tab:
        remedy = "Give a question and a text with a tab between them."
        raise UserError("one text, but the model reads a question and a text", place="text", remedy=remedy)
    answerer = Answerer.load(run.folder, request.device)
    reading = inspect_answer(answerer, question, text)
    return inspection(answerer, reading, BIDIRECTIONAL, request)
