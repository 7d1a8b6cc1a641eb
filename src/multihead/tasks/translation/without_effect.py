"""Errors for given settings without effect.

Settings in a recipe *file* are never refused: the file may keep them for other variants.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import DataSettings, Settings
from multihead.text.corpus import has_fields

OF_METHODS = {
    "beam": ("beam_size", "stop", "coverage_penalty"),
    "sample": ("temperature", "top_k", "top_p", "seed"),
}
"""Keys of [search] that only one method uses."""


def without_effect(place: str, reason: str) -> UserError:
    """Return the error for an option or key without effect, e.g. for the reason "on a vocabulary"."""
    return UserError(f"it has no effect {reason}", place=place, remedy="Leave it out.")


def refuse_keys(given: Collection[str], keys: Iterable[str], reason: str) -> None:
    """Refuse given keys without effect, entries of tables (``data.tests.news``) included.

    Args:
        given: the given dotted keys.
        keys: the keys without effect.
        reason: why they have none.

    Raises:
        UserError: one of the keys is given.
    """
    for key in keys:
        if typed := next((name for name in given if name == key or name.startswith(f"{key}.")), None):
            raise without_effect(f"--{typed}", reason)


def refuse_other_methods(
    given: Collection[str], method: str, *, methods: Sequence[str] = ("beam", "sample")
) -> None:
    """Refuse given keys of [search] that the search method ignores.

    Args:
        given: the given dotted keys.
        method: ``search.method``.
        methods: methods whose keys are checked.

    Raises:
        UserError: one of the keys is given.
    """
    for other in methods:
        if other != method:
            keys = [f"search.{key}" for key in OF_METHODS[other]]
            refuse_keys(given, keys, f"with search.method {method}; it is for {other}")


def refuse_fields(given: Collection[str], data: DataSettings, sources: Sequence[str]) -> None:
    """Refuse column names for plain text files, which hold one side each.

    Raises:
        UserError: one of the keys is given.
    """
    if sources and not any(has_fields(data, name) for name in sources):
        keys = ("data.source_field", "data.target_field")
        refuse_keys(
            given, keys, "on plain lines or documents; TSV, CSV and JSONL have columns and keys (data.format)"
        )


class _Rule(NamedTuple):
    """Keys without effect if a condition holds."""

    keys: tuple[str, ...]
    holds: Callable[[Any], bool]
    reason: str


def _other(section: str, key: str, *values: object) -> Callable[[Any], bool]:
    """Return a condition: the recipe has the setting, and its value is not one of these."""
    missing = object()

    def holds(recipe: Recipe[Settings]) -> bool:
        value = getattr(recipe.section(section), key, missing)
        return value is not missing and value not in values

    return holds


def _is(section: str, key: str, *values: object) -> Callable[[Any], bool]:
    return lambda recipe: getattr(recipe.section(section), key, None) in values


def _read_from_files(recipe: Recipe[Settings]) -> bool:
    tokenizer: Any = recipe.tokenizer
    joint = getattr(tokenizer, "joint", True)
    return bool(getattr(tokenizer, "file", "")) and (joint or bool(tokenizer.target_file))


def _validates_on_files(recipe: Recipe[Settings]) -> bool:
    names = ("valid_source", "valid_files", "valid")
    generated = getattr(recipe.data, "generate", "")
    return not generated and any(getattr(recipe.data, name, ()) for name in names)


def _of_one_corpus(recipe: Recipe[Settings]) -> bool:
    return not (getattr(recipe.data, "corpora", "") or getattr(recipe.data, "corpus", {}))


_OF_A_TOKENIZER = (
    "vocab_size",
    "min_frequency",
    "sample_size",
    "split_digits",
    "apostrophe",
)
_FROM_DATA = ("source_vocab", "target_vocab", "vocab_size", "text_length")
_FROM_IMAGES = ("image_size", "channels", "classes", "class_names")

_RULES = (
    _Rule(
        tuple(f"tokenizer.{key}" for key in ("kind", *_OF_A_TOKENIZER)),
        _read_from_files,
        "if the tokenizer is read from tokenizer.file",
    ),
    _Rule(
        ("tokenizer.min_frequency", "tokenizer.split_digits"),
        _is("tokenizer", "kind", "chars"),
        "on tokenizer.kind chars",
    ),
    _Rule(
        ("data.valid_fraction", "data.seed"),
        _validates_on_files,
        "if validation files are named: nothing is held out",
    ),
    _Rule(
        ("data.both_directions", "data.temperature"),
        _of_one_corpus,
        "without several corpora (data.corpora)",
    ),
    _Rule(
        ("training.horizon",),
        _other("training", "schedule", "cosine"),
        "but on training.schedule cosine",
    ),
    _Rule(
        ("training.average",),
        _is("training", "final", "best", "ema", "last"),
        "on training.final best, ema or last",
    ),
    _Rule(("training.magnitude",), _is("training", "operations", 0), "without training.operations"),
    _Rule(("data.generated",), _is("data", "generate", ""), "without data.generate"),
    _Rule(
        ("model.max_positions",),
        _other("model", "positions", "learned"),
        "but on model.positions learned",
    ),
    _Rule(
        ("model.window", "model.dilation"),
        _other("model", "attention", "window", "alternating", "longformer"),
        "but on model.attention window, alternating or longformer",
    ),
    _Rule(
        ("model.global_tokens",),
        _other("model", "attention", "longformer"),
        "but on model.attention longformer",
    ),
    _Rule(
        ("model.projected", "model.sharing"),
        _other("model", "attention", "linformer"),
        "but on model.attention linformer",
    ),
    _Rule(
        ("model.hash_rounds", "model.chunk", "model.ff_chunk"),
        _other("model", "attention", "reformer"),
        "but on model.attention reformer",
    ),
    _Rule(("model.stem_width",), _is("model", "stem", "linear"), "but on model.stem convolutional"),
    _Rule(
        ("model.d_alignment",),
        _is("model", "score", "dot", "general"),
        "but on model.score additive or concat",
    ),
    _Rule(
        ("model.teacher_forcing_steps",),
        _is("model", "teacher_forcing", 1.0),
        "at model.teacher_forcing 1: the chance does not fall",
    ),
    _Rule(
        tuple(f"model.{key}" for key in (*_FROM_DATA, *_FROM_IMAGES)),
        lambda recipe: True,
        "in training: it is taken from the data and its tokenizer ([data], [tokenizer])",
    ),
)


def refuse_without_effect(given: Collection[str], recipe: Recipe[Settings]) -> None:
    """Refuse given dotted keys of training settings without effect in this recipe.

    Raises:
        UserError: one of them has no effect.
    """
    for rule in _RULES:
        if any(key in given for key in rule.keys) and rule.holds(recipe):
            refuse_keys(given, rule.keys, rule.reason)
    if hasattr(recipe.data, "source_field"):
        refuse_fields(given, recipe.data, recipe.data.source)
