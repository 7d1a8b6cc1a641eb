"""Inspection of a text classifier's attention."""

from multihead.generation.text_classifier import TextClassifier
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.inspect.text_inspection import inspect_classification
from multihead.run import Run
from multihead.workflows.inspection import Inspection, InspectionRequest
from multihead.workflows.text_inspection import inspection


def inspect(run: Run, question: Question) -> Inspection:
    """See ``workflows.tasks.inspect``: a text and its class."""
    classifier = TextClassifier.load(run.folder, question.device)
    reading = inspect_classification(classifier, question.without_target("a classifier"))
    return inspection(reading, classifier.model, classifier.tokenizer, BIDIRECTIONAL, question)
