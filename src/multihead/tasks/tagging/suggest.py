"""Settings of a tagger, chosen by its sentences."""

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.suggest_for_texts import TextSuggestion, suggest_for_texts
from multihead.tasks.tagging.tagged import text_of, training_sentences


def suggest(recipe: Recipe[Settings], init_run: Run | None) -> TextSuggestion:
    """See ``recipe.tasks.Task.suggest``."""
    texts = map(text_of, training_sentences(recipe.data))
    return suggest_for_texts(recipe, texts, unit="sentences", init_run=init_run)
