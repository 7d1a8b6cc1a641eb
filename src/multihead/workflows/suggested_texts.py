"""A recipe of classifiers and taggers, with suggested settings in the place of those that it leaves open."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from multihead import recipe as recipes
from multihead.recipe import Recipe, tasks
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.suggest_for_texts import Decisions, TextSuggestion, within
from multihead.workflows.suggested_recipe import TRAINING_SHARE
from multihead.workflows.update_speed import text_speed


def fill_recipe(
    name: str | Path,
    base: Recipe[Settings],
    given: Mapping[str, object],
    *,
    run: Path | None,
    init_run: Run | None,
) -> Recipe[Settings]:
    """Return an open recipe (``Recipe.is_open``) with suggested settings, any other as it is.

    Args:
        name: the recipe.
        base: the recipe with what the user typed.
        given: what the user typed, by dotted key.
        run: the run folder; an existing run keeps its settings.
        init_run: a run to fine-tune.

    Raises:
        UserError: see the task's ``suggest``.
    """
    kind = {key: value for key, value in given.items() if key == "model.kind"}
    if not recipes.load(name, kind).is_open:
        return base
    if run is not None and Run.exists(run):
        return recipes.load(run / "recipe.toml", given)
    if not (base.data.files or base.data.generate):
        return base  # refused with the other data settings
    recipes.refuse_contradictions(base)  # before the corpus is measured
    suggestion: TextSuggestion = tasks.get_task(base.task).part("suggest")(base, init_run)
    recipe = _with_decisions(name, base, given, suggestion.decisions)
    if not base.training.minutes:
        return recipe
    affordable = TRAINING_SHARE * 60 * base.training.minutes * text_speed(recipe, suggestion.length)
    timed = within(recipe.values(), affordable, suggestion.epoch)
    return _with_decisions(name, base, given, {**suggestion.decisions, **timed})


def _named(base: Recipe[Settings]) -> set[str]:
    """Return the settings that the recipe or the user names, by dotted key."""
    sections = (name for name in recipes.SECTION_NAMES if type(base.section(name)) is not Settings)
    return {f"{name}.{key}" for name in sections for key in base.section(name).model_fields_set}


def _with_decisions(
    name: str | Path, base: Recipe[Settings], given: Mapping[str, object], decisions: Decisions
) -> Recipe[Settings]:
    """Return the recipe with the decisions on what it leaves open, as far as its model has the settings."""
    decided = {
        key: decision
        for key, decision in decisions.items()
        if key in base.values() and key not in _named(base)
    }
    values = {key: decision.value for key, decision in decided.items()}
    reasons = {key: decision.reason for key, decision in decided.items() if decision.reason}
    return replace(recipes.load(name, {**values, **given}), reasons=reasons)
