"""Inspection of a text classifier's attention."""

from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.tasks.classification.attention import inspect_classification
from multihead.tasks.classification.text_classifier import TextClassifier
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.text_inspection import inspection


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a text, or two with a tab between them."""
    classifier = TextClassifier.load(run.folder, request.device)
    text = classifier.read(request.input_alone("a classifier"), "text")
    reading = inspect_classification(classifier, text)
    return inspection(reading, classifier.model, classifier.tokenizer, BIDIRECTIONAL, request)
