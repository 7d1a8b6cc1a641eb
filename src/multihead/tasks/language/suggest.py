"""Settings of a language model, chosen by its text."""

from dataclasses import replace

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.tasks.suggest_for_texts import TextSuggestion, suggest_for_texts
from multihead.tasks.translation.suggest.decision import Decision
from multihead.text.documents import read_blocks

LEFT_OUT = ("tokenizer.dropout", "model.positions", "data.max_length", "model.max_positions")
"""Settings of texts that are read one by one."""
CONTEXT = 128
"""Tokens that a model sees at once."""


def suggest(recipe: Recipe[Settings], init_run: Run | None) -> TextSuggestion:
    """See ``recipe.tasks.Task.suggest``."""
    data = recipe.data
    paths = [locate_file(data.dir, name) for name in data.files]
    lines = (
        line for text, _ in read_blocks(paths, data.documents, data.encoding) for line in text.splitlines()
    )
    suggestion = suggest_for_texts(recipe, lines, unit="lines", init_run=init_run)
    decisions = {key: value for key, value in suggestion.decisions.items() if key not in LEFT_OUT}
    decisions.setdefault("model.context", Decision(CONTEXT, ""))
    return replace(suggestion, decisions=decisions)
