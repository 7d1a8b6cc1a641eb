"""Models of answers as ``multihead.load`` returns them."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.spans.answerer import Answerer
from multihead.tasks.spans.attention import inspect_answer
from multihead.tasks.text_inspection import text_page


class LoadedAnswerer(ListsMethods, Answerer):
    """Model that answers questions by parts of a text, with inspection of its attention."""

    def inspect(self, question: str, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a question and a text, with the answer.

        Raises:
            UserError: question or text has no words.
        """
        return text_page(self, inspect_answer(self, question, text), BIDIRECTIONAL, full)
