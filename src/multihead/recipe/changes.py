"""Differences between recipes: settings that may change when a run is resumed, and those that may not."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from multihead.errors import UserError
from multihead.recipe.sections import Recipe
from multihead.recipe.settings import Settings
from multihead.recipe.values import spell_value

CHANGEABLE = (
    "name",
    "data.dir",  # the run compares the contents of the data
    "data.cache",
    "data.processes",
    "data.tests",
    "model.source_vocab",  # set by the tokenizer
    "model.target_vocab",
    "model.vocab_size",
    "data.source_language",
    "data.target_language",
    "training.steps",  # the schedule keeps its horizon
    "training.minutes",
    "training.log_every",
    "training.save_minutes",
    "training.skip_bad",
    "training.device",
    "training.threads",
    "training.shard_optimizer",
    "training.shard_weights",
    "validation.samples",
    "search.*",
)
"""Keys whose value may change when a run is resumed."""


@dataclass(frozen=True)
class Difference:
    """A key with two values; ``None`` if one of the models lacks the key."""

    key: str
    old: object
    new: object

    def __str__(self) -> str:
        return f"{self.key}: {spell_value(self.old)} -> {spell_value(self.new)}"

    @property
    def allowed(self) -> bool:
        """True if a run may be resumed with the new value."""
        return _is_changeable(self.key)


def _is_changeable(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in CHANGEABLE)


def differences(old: Recipe[Settings], new: Recipe[Settings]) -> list[Difference]:
    """Return the keys whose values differ, in recipe order."""
    before, after = old.values(), new.values()
    keys = dict.fromkeys([*before, *after])
    pairs = [Difference(key, before.get(key), after.get(key)) for key in keys]
    return [difference for difference in pairs if difference.old != difference.new]


def with_horizon(recipe: Recipe[Settings]) -> Recipe[Settings]:
    """Return the recipe of a new run, its schedule fixed to its steps, even if these are raised later."""
    horizon = recipe.training.horizon or recipe.training.steps
    return replace(recipe, training=recipe.training.model_copy(update={"horizon": horizon}))


def refuse_at_once(old: Recipe[Settings], new: Recipe[Settings], *, place: str) -> None:
    """Refuse before the data is read what :func:`resume_recipe` would refuse later.

    Model settings that depend on the data still have their defaults, and are ignored.

    Raises:
        UserError: see :func:`resume_recipe`.
    """
    if type(old.model) is type(new.model):
        changed = {key: value for key, value in new.model if not _is_default(new, "model", key, value)}
        new = replace(new, model=old.model.model_copy(update=changed))
    resume_recipe(old, new, place=place)


def _is_default(recipe: Recipe[Settings], section: str, name: str, value: object) -> bool:
    field = type(recipe.section(section)).model_fields[name]
    return not field.is_required() and value == field.get_default(call_default_factory=True)


def resume_recipe(
    old: Recipe[Settings], new: Recipe[Settings], *, place: str | None = None
) -> Recipe[Settings]:
    """Return the recipe of a resumed run: the new one, with the old schedule horizon.

    Args:
        old: the recipe of the run.
        new: the recipe given now.
        place: the run folder, for the error message.

    Raises:
        UserError: settings differ that may not change (all are named), or a schedule that ends at a learning
            rate of 0 is extended.
    """
    if new.training.horizon == 0:
        new = replace(new, training=new.training.model_copy(update={"horizon": old.training.horizon}))
    refused = [difference for difference in differences(old, new) if not difference.allowed]
    if refused:
        raise UserError(
            f"this run was started with other settings ({join_differences(refused)})",
            place=place,
            remedy="Give the same settings to resume it, or another --run folder.",
        )
    end = new.training.horizon
    if new.training.schedule == "cosine" and new.training.steps > max(end, old.training.steps):
        raise UserError(
            f"the learning rate is 0 from update {end:,} on (training.schedule cosine): more updates would "
            "change nothing",
            place=place,
            remedy="Start another run from its weights: --init RUN --run ANOTHER --training.steps N.",
        )
    return new


def join_differences(found: Sequence[Difference]) -> str:
    """Return differences on one line."""
    return "; ".join(map(str, found))


def decisive(recipe: Recipe[Settings]) -> dict[str, object]:
    """Return all settings that affect the result, by their dotted keys.

    The number of steps is excluded, because a run can be extended. Defaults are excluded, so that a new key
    changes nothing for existing recipes.
    """
    values = {key: value for key, value in recipe.values().items() if not _is_changeable(key)}
    for key in list(values):
        section, _, name = key.rpartition(".")
        if section and key != "model.kind" and _is_default(recipe, section, name, values[key]):
            del values[key]
    return values


def recipe_hash(recipe: Recipe[Settings]) -> str:
    """Return a hash, 8 hexadecimal digits, of all settings that affect the result, and the data's folder."""
    settings = decisive(recipe)
    folder = recipe.values().get("data.dir")
    if folder is not None and not _is_default(recipe, "data", "dir", folder):
        settings["data.dir"] = folder
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
