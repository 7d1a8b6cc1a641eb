"""A recipe of a model of texts, with suggested settings in the place of those that it leaves open."""

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


def open_recipe(name: str | Path, given: Mapping[str, object]) -> Recipe[Settings] | None:
    """Return a recipe without what the user typed if a corpus decides the rest of it; else None."""
    plain = recipes.load(name, {key: value for key, value in given.items() if key == "model.kind"})
    return plain if plain.is_open else None


def fill_recipe(
    name: str | Path,
    plain: Recipe[Settings],
    given: Mapping[str, object],
    *,
    run: Path | None,
    init_run: Run | None,
) -> Recipe[Settings]:
    """Return an open recipe with suggested settings in the place of those that nobody named.

    Args:
        name: the recipe.
        plain: the recipe without what the user typed.
        given: what the user typed, by dotted key.
        run: the run folder; an existing run keeps its settings.
        init_run: a run to fine-tune.

    Raises:
        UserError: see the task's ``suggest``.
    """
    if run is not None and Run.exists(run):
        return recipes.load(run / "recipe.toml", given)
    # Heads that divide any width, until the number is decided.
    heads = {"model.num_heads": 1} if hasattr(plain.model, "num_heads") else {}
    base = recipes.load(name, {**heads, **given})
    if not (base.data.files or getattr(base.data, "generate", "")):
        return base  # refused with the other data settings
    suggestion: TextSuggestion = tasks.get_task(base.task).part("suggest")(base, init_run)
    sections = (section for section in recipes.SECTION_NAMES if type(plain.section(section)) is not Settings)
    named = {f"{section}.{key}" for section in sections for key in plain.section(section).model_fields_set}
    has = base.values().keys() - named - given.keys()

    def with_decisions(decisions: Decisions) -> Recipe[Settings]:
        values = {key: decision.value for key, decision in decisions.items() if key in has}
        reasons = {
            key: decision.reason for key, decision in decisions.items() if key in has and decision.reason
        }
        return replace(recipes.load(name, {**values, **given}), reasons=reasons)

    recipe = with_decisions(suggestion.decisions)
    if not base.training.minutes:
        return recipe
    affordable = TRAINING_SHARE * 60 * base.training.minutes * text_speed(recipe, suggestion.length)
    return with_decisions({**suggestion.decisions, **within(recipe.values(), affordable, suggestion.epoch)})
