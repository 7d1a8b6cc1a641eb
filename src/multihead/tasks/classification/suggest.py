"""Settings of a text classifier, chosen by its texts."""

from dataclasses import replace

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.masked.texts import training_examples
from multihead.tasks.suggest_for_texts import TextSuggestion, suggest_for_texts
from multihead.tasks.translation.suggest.decision import Decision


def suggest(recipe: Recipe[Settings], init_run: Run | None) -> TextSuggestion:
    """See ``recipe.tasks.Task.suggest``."""
    texts = (f"{example.text} {example.second}".strip() for example in training_examples(recipe.data))
    unit = "pairs" if recipe.data.pairs else "texts"
    suggestion = suggest_for_texts(recipe, texts, unit=unit, init_run=init_run)
    if not recipe.data.pairs:
        return suggestion
    match = Decision(True, "pairs of texts: what both have in common often decides")
    return replace(suggestion, decisions={**suggestion.decisions, "model.exact_match": match})
