"""Taggers as ``multihead.load`` returns them, and the inspection of their attention."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.tagging.attention import inspect_tagging
from multihead.tasks.tagging.tagger import Tagger
from multihead.tasks.text_inspection import inspection, text_page


class LoadedTagger(ListsMethods, Tagger):
    """Tagger, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a sentence, with its tags.

        Raises:
            UserError: the text has no words.
        """
        return text_page(self, inspect_tagging(self, text), BIDIRECTIONAL, full)


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a sentence of white-space separated words."""
    tagger = Tagger.load(run.folder, request.device)
    reading = inspect_tagging(tagger, request.input_alone("a tagger"))
    return inspection(tagger, reading, BIDIRECTIONAL, request)
