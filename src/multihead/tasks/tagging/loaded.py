"""Taggers as ``multihead.load`` returns them."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.tagging.attention import inspect_tagging
from multihead.tasks.tagging.tagger import Tagger
from multihead.tasks.text_inspection import text_page


class LoadedTagger(ListsMethods, Tagger):
    """Tagger, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a sentence, with its tags.

        Raises:
            UserError: the text has no words.
        """
        return text_page(self, inspect_tagging(self, text), BIDIRECTIONAL, full)
