"""Evaluation of taggers on test sets."""

from multihead.run import Run
from multihead.tasks.tagging.tagged import generated_test_sentences, sentences_of
from multihead.tasks.tagging.tagger import Tagger
from multihead.tasks.test_sets import GENERATED, Results, test_sets


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    data = Run.open(folder).recipe.data
    tagger = Tagger.load(folder, device)
    sets = {name: sentences_of(data, names) for name, names in test_sets(data, files).items()}
    if data.generate and not files:
        sets[GENERATED] = generated_test_sentences(data)
    results: dict[str, Results] = {}
    for name, sentences in sets.items():
        scores = tagger.measure(sentences)
        results[name] = {
            "sentences": scores.sentences,
            "words": scores.scores.count,
            "accuracy": scores.scores.accuracy,
            "exact": scores.exact,
            "f1": scores.f1,
        }
        if scores.spans is not None:
            results[name] |= {"precision": scores.spans.precision, "recall": scores.spans.recall}  # type: ignore[operator]
    return results
