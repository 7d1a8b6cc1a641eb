"""Evaluation of masked language models on test sets."""

from multihead.tasks.masked.masked_likelihood import MaskedMeasure
from multihead.tasks.test_sets import Results


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    if not files:
        return {}
    found = MaskedMeasure.load(folder, device).measure(files)
    counts = {
        "texts": found.texts,
        "empty": found.empty,
        "cut off": found.cut,
        "unknown tokens": found.unknown,
    }
    scores = {"masked tokens": found.masked, "perplexity": found.perplexity, "accuracy": found.accuracy}
    return {files[0]: {**counts, **scores}}
