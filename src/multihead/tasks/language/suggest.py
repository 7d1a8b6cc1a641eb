"""Settings of a language model, chosen by its text."""

from dataclasses import replace

from multihead.errors import UserError
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.tasks.suggest_for_texts import TextSuggestion, suggest_for_texts
from multihead.tasks.translation.suggest.decision import Decision
from multihead.text.documents import read_blocks

CONTEXT = 128
"""Tokens that a model sees at once."""


def suggest(recipe: Recipe[Settings], init_run: Run | None) -> TextSuggestion:
    """See ``recipe.tasks.Task.suggest``."""
    if init_run:
        _refuse_other_kind(recipe.kind, init_run.fit_for("language"))
    data = recipe.data
    paths = [locate_file(data.dir, name) for name in data.files]
    blocks = read_blocks(paths, data.documents, data.encoding)
    lines = (line for text, _ in blocks for line in text.split("\n") if line.strip())
    suggestion = suggest_for_texts(recipe, lines, unit="lines", init_run=init_run)
    if init_run:
        return suggestion
    # Positions suggested for texts that are read one by one may be ones that this model lacks.
    decisions = {key: value for key, value in suggestion.decisions.items() if key != "model.positions"}
    return replace(suggestion, decisions={**decisions, "model.context": Decision(CONTEXT, "")})


def _refuse_other_kind(kind: str, init_run: Run) -> None:
    trained = init_run.recipe.kind
    if trained != kind and {trained, kind} <= set(model_kinds.built_in()):
        raise UserError(
            f'its model is a "{trained}", that of the recipe a "{kind}"',
            place=str(init_run.folder),
            remedy=f"Pass --model.kind {trained}, or leave the recipe out to take the run's own.",
        )
