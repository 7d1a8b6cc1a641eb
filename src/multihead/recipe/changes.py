"""What may change between two starts of the same run, and what makes a run another one."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from multihead.errors import UserError
from multihead.recipe.sections import Recipe
from multihead.recipe.values import spelled
from multihead.settings import Settings

FREE = (
    "name",
    "data.dir",  # the run compares the data's contents itself
    "data.cache",
    "data.tests",
    "model.source_vocab",  # follow from the tokenizer
    "model.target_vocab",
    "model.vocab_size",
    "data.source_language",
    "data.target_language",
    "training.log_every",
    "training.save_minutes",
    "training.device",
    "training.threads",
    "validation.samples",
    "search.*",
)
"""Keys that may have another value when a run is continued."""


@dataclass(frozen=True)
class Difference:
    """A key that has two values; ``None`` where one model does not have the key."""

    key: str
    old: object
    new: object

    def __str__(self) -> str:
        return f"{self.key}: {spelled(self.old)} -> {spelled(self.new)}"

    @property
    def allowed(self) -> bool:
        """Whether a run may be continued with the new value."""
        if self.key == "training.steps":
            assert isinstance(self.old, int)
            assert isinstance(self.new, int)
            return self.new >= self.old
        return _is_free(self.key)


def _is_free(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in FREE)


def differences(old: Recipe[Settings], new: Recipe[Settings]) -> list[Difference]:
    """Return the keys whose values differ, in the order of the recipe."""
    before, after = old.values(), new.values()
    keys = dict.fromkeys([*before, *after])
    found = [Difference(key, before.get(key), after.get(key)) for key in keys]
    return [difference for difference in found if difference.old != difference.new]


def with_horizon(recipe: Recipe[Settings]) -> Recipe[Settings]:
    """Return the recipe of a first start: its schedule is laid out for its steps, also when they grow."""
    horizon = recipe.training.horizon or recipe.training.steps
    return replace(recipe, training=recipe.training.model_copy(update={"horizon": horizon}))


def refuse_at_once(old: Recipe[Settings], new: Recipe[Settings], *, place: str) -> None:
    """Refuse what :func:`resumed` will refuse anyway, before the data of a start is read.

    What the data has yet to say of the model is not known then, and has its default.

    Raises:
        UserError: see :func:`resumed`.
    """
    if type(old.model) is type(new.model):
        said = {key: value for key, value in new.model if not _is_default(new, "model", key, value)}
        new = replace(new, model=old.model.model_copy(update=said))
    resumed(old, new, place=place)


def _is_default(recipe: Recipe[Settings], section: str, name: str, value: object) -> bool:
    field = type(recipe.section(section)).model_fields[name]
    return not field.is_required() and value == field.get_default(call_default_factory=True)


def resumed(old: Recipe[Settings], new: Recipe[Settings], *, place: str | None = None) -> Recipe[Settings]:
    """Return the recipe to go on with: the new one, the schedule laid out as it was.

    Args:
        old: the run's recipe.
        new: the recipe of this start.
        place: the run folder, for the error message.

    Raises:
        UserError: a setting differs that may not change; all such are named. More updates than a schedule has
            that ends at 0.
    """
    if new.training.horizon == 0:
        new = replace(new, training=new.training.model_copy(update={"horizon": old.training.horizon}))
    refused = [difference for difference in differences(old, new) if not difference.allowed]
    if refused:
        raise UserError(
            f"this run was started with other settings ({told(refused)})",
            place=place,
            remedy="Start with the same settings to go on, or give another --run folder.",
        )
    end = new.training.horizon
    if new.training.schedule == "cosine" and new.training.steps > max(end, old.training.steps):
        raise UserError(
            f"its learning rate is 0 from update {end:,} on (training.schedule cosine): more updates would "
            "change nothing",
            place=place,
            remedy="Begin another run with its weights: --init RUN --run ANOTHER --training.steps N.",
        )
    return new


def told(found: Sequence[Difference]) -> str:
    """Return differences as one line."""
    return "; ".join(map(str, found))


def recipe_hash(recipe: Recipe[Settings]) -> str:
    """Return 8 hexadecimal digits that stand for all settings which make the result another one.

    Number of steps left out: a run with more of them is the same run, continued. What has its default is left
    out too, so that a key that is added one day leaves the hashes of today's recipes alone.
    """
    values = recipe.values()
    decisive = {key: value for key, value in values.items() if not _is_free(key) or key == "data.dir"}
    del decisive["training.steps"]
    for key in list(decisive):
        section, _, name = key.rpartition(".")
        if section and key != "model.kind" and _is_default(recipe, section, name, decisive[key]):
            del decisive[key]
    text = json.dumps(decisive, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
