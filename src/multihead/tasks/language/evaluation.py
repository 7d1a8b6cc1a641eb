"""Evaluation of language models on test sets."""

from multihead.tasks.language.text_likelihood import TextLikelihood
from multihead.tasks.test_sets import Results


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    if not files:
        return {}
    found = TextLikelihood.load(folder, device).measure(files)
    return {
        files[0]: {
            "tokens": found.tokens,
            "unknown": found.unknown,
            "perplexity": found.perplexity,
            "bits per character": found.bits_per_character,
            "accuracy": found.accuracy,
        }
    }
