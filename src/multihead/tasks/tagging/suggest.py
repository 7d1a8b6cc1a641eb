"""Settings of a tagger, chosen by its sentences."""

from collections.abc import Iterator
from dataclasses import replace

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.suggest_for_texts import TextSuggestion, suggest_for_texts
from multihead.tasks.tagging.span_scores import are_spans
from multihead.tasks.tagging.tagged import text_of, training_sentences
from multihead.tasks.translation.suggest.decision import Decision


def suggest(recipe: Recipe[Settings], init_run: Run | None) -> TextSuggestion:
    """See ``recipe.tasks.Task.suggest``."""
    tags: set[str] = set()

    def texts() -> Iterator[str]:
        for sentence in training_sentences(recipe.data):
            tags.update(sentence.tags)
            yield text_of(sentence)

    suggestion = suggest_for_texts(recipe, texts(), unit="sentences", init_run=init_run)
    if not are_spans(tags):
        return suggestion
    metric = Decision("f1", "spans: most words are outside, so that accuracy says little")
    return replace(suggestion, decisions={**suggestion.decisions, "validation.metric": metric})
