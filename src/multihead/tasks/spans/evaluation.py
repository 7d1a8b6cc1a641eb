"""Evaluation of models of answers on test sets."""

from multihead.run import Run
from multihead.tasks.spans import key_values
from multihead.tasks.spans.answerer import Answerer
from multihead.tasks.spans.questions import questions_of
from multihead.tasks.test_sets import GENERATED, Results, test_sets


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    data = Run.open(folder).recipe.data
    answerer = Answerer.load(folder, device)
    sets = {name: questions_of(data, names) for name, names in test_sets(data, files).items()}
    if data.generate and not files:
        sets[GENERATED] = key_values.test_questions(data)
    results: dict[str, Results] = {}
    for name, questions in sets.items():
        scores = answerer.measure(questions)
        counts = {"questions": scores.count, "answerable": scores.answerable}
        results[name] = {**counts, "exact": scores.exact, "f1": scores.f1}
    return results
