"""Recipe keys on the command line: ``--section.key value``."""

from collections.abc import Collection, Sequence

from multihead.cli._effect import Used
from multihead.cli._help import Types, spelling
from multihead.recipe import SECTION_NAMES, model_kinds, tasks


def split(
    arguments: Sequence[str],
    *,
    sections: Sequence[str],
    short: str = "",
    task: str = model_kinds.DEFAULT_TASK,
) -> tuple[list[str], dict[str, str]]:
    """Separate recipe keys from the other arguments; the last value of a repeated key counts.

    An option with a dot in its name is a key, in which dashes stand for underscores. A key without a value
    means "true", as for a switch; the recipe rejects it if the key is not a switch.

    >>> split(["my", "--training.steps", "80", "--training.compile"], sections=["training"])
    (['my'], {'training.steps': '80', 'training.compile': 'true'})
    >>> split(["run", "--beam-size=4"], sections=["search"], short="search")
    (['run'], {'search.beam_size': '4'})
    """
    bare = tasks.get_task(task).sections[short].model_fields if short else ()
    rest: list[str] = []
    keys: dict[str, str] = {}
    remaining = iter(enumerate(arguments))
    for position, argument in remaining:
        name, equals, value = argument.partition("=")
        key = _key(name, sections, short, bare)
        if key is None:
            rest.append(argument)
            continue
        following = arguments[position + 1] if position + 1 < len(arguments) else "--"
        if not equals and not following.startswith("--"):
            _, value = next(remaining)
            equals = "="
        keys[key] = value if equals else "true"
    return rest, keys


def _key(name: str, sections: Sequence[str], short: str, bare: Collection[str]) -> str | None:
    """Return the dotted key of an option, None if it is not a recipe key.

    Args:
        name: the option as typed.
        sections: sections that the command accepts.
        short: section whose keys may omit its name.
        bare: keys of that section.
    """
    key = name.removeprefix("--").replace("-", "_")
    if not name.startswith("--") or not sections:
        return None
    if key in bare:
        return f"{short}.{key}"
    section, dot, _ = key.partition(".")
    # The command ignores sections other than its own, so their keys must not be accepted.
    return key if dot and (section in sections or section not in SECTION_NAMES) else None


def spellings(types: Types, *, short: str = "", used: Used | None = None) -> list[str]:
    """Return all keys as typed: ``--training.steps``, or ``--beam-size`` in a short section.

    Those of [training] come first: a key without its section, such as ``--seed``, most likely means them.
    """
    return [
        f"--{spelling(name, key, short=short)}"
        for name in sorted(types, key=lambda name: name != "training")
        for key in (used or {}).get(name, types[name].model_fields)
    ]
