"""Text classifiers as ``multihead.load`` returns them."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.tasks.classification.attention import inspect_classification
from multihead.tasks.classification.text_classifier import Text, TextClassifier
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.text_inspection import text_page


class LoadedTextClassifier(ListsMethods, TextClassifier):
    """Text classifier, with inspection of its attention."""

    def inspect(self, text: Text, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text or a pair of texts, with the predicted classes.

        Raises:
            UserError: a text is empty; one text for a model of pairs, or a pair for a model of single texts.
        """
        return text_page(self, inspect_classification(self, text), BIDIRECTIONAL, full)
