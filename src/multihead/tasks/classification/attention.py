"""Attention of a text classifier over a text or a pair, with the predicted classes."""

from itertools import islice

from multihead.inspect.phrases import phrase
from multihead.inspect.text_inspection import (
    BEYOND_LIMIT,
    SEPARATOR,
    TOP_K,
    Predictions,
    TextInspection,
    check_text,
    inspect_encoder,
)
from multihead.tasks.classification.text_classifier import Text, TextClassifier


def inspect_classification(classifier: TextClassifier, text: Text) -> TextInspection:
    """Record the attention of a text classifier over a text or a pair, and the predicted classes.

    Args:
        classifier: the model.
        text: a text, or a pair for a model of pairs; truncated to the model's length, as in classification.

    Raises:
        UserError: a text is empty; one text for a model of pairs, or a pair for a model of single texts.
    """
    texts = [text] if isinstance(text, str) else [*text]
    for side in texts:
        check_text(side)
    (parts,) = classifier.encode_text([text])
    (prediction,) = classifier.classify([text])
    used = sum(len(ids) for ids in parts if ids is not None)
    total = sum(map(len, classifier.tokenizer.encode_batch(texts)))
    return inspect_encoder(
        classifier.model,
        classifier.tokenizer,
        SEPARATOR.join(texts),
        parts,
        (),
        (Predictions("class", dict(islice(prediction.probabilities.items(), TOP_K))),),
        classifier.device,
        (phrase(BEYOND_LIMIT, used, total),) if total > used else (),
    )
