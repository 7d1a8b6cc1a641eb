"""Attention of a text classifier over a text."""

from multihead.generation.text_classifier import TextClassifier
from multihead.inspect.page.kinds import BOTH_WAYS
from multihead.inspect.text_inspection import read_class
from multihead.run import Run
from multihead.workflows.inspection import Inspection, Question
from multihead.workflows.text_inspection import inspection


def inspect(run: Run, question: Question) -> Inspection:
    """See ``workflows.tasks.inspect``: a text and its class."""
    classifier = TextClassifier.load(run.folder, question.device)
    reading = read_class(classifier, question.without_target("a classifier"))
    return inspection(reading, classifier.model, classifier.tokenizer, BOTH_WAYS, question)
