"""Text classifiers as ``multihead.load`` returns them, and the inspection of their attention."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.tasks.classification.attention import inspect_classification
from multihead.tasks.classification.text_classifier import Text, TextClassifier
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.text_inspection import inspection, text_page


class LoadedTextClassifier(ListsMethods, TextClassifier):
    """Text classifier, with inspection of its attention."""

    def inspect(self, text: Text, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text or a pair of texts, with the predicted classes.

        Raises:
            UserError: a text is empty; one text for a model of pairs, or a pair for a model of single texts.
        """
        return text_page(self, inspect_classification(self, text), BIDIRECTIONAL, full)


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a text, or two with a tab between them."""
    classifier = TextClassifier.load(run.folder, request.device)
    text = classifier.read(request.input_alone("a classifier"), "text")
    reading = inspect_classification(classifier, text)
    return inspection(classifier, reading, BIDIRECTIONAL, request)
