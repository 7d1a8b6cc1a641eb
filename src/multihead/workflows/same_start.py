"""Checks that all processes of a training start from the same code, settings, machine level and data."""

import hashlib
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from multihead.errors import UserError
from multihead.recipe import Recipe, from_toml, to_toml
from multihead.recipe.settings import OptimisationSettings, Settings
from multihead.system import parallel, plugins
from multihead.training.computation import computation

SAME_CODE = "Install the same versions everywhere, and start all processes with the same command."
SAME_DATA = "Give all processes the same files: a shared disk, or equal copies."


def recipe_of_first(make: Callable[[], Recipe[Settings]]) -> Recipe[Settings]:
    """Make a recipe in the first process, and return it in all.

    A Python file that the user named for the model is named in all processes.

    Raises:
        UserError: a process has no such file, or one with other content.
    """
    recipes: list[Recipe[Settings]] = []

    def shared() -> dict[str, str]:
        recipes.append(make())
        if parallel.world() == 1:
            return {}
        return {"recipe": to_toml(recipes[0]), "file": plugins.path(recipes[0].kind)}

    content = parallel.from_first(shared)
    if not recipes:
        if content["file"]:
            plugins.name_file(content["file"])
        recipes.append(from_toml(content["recipe"]))
    parallel.require_equal_facts({"the model": recipes[0].kind, "the task": recipes[0].task}, SAME_CODE)
    return recipes[0]


def refuse_several(option: str) -> None:
    """Raise ``UserError`` for an option that only one process can have."""
    if parallel.world() > 1:
        remedy = "Give it in one process first; several processes resume that run without it."
        raise UserError("it is for one process", place=option, remedy=remedy)


def refuse_other_commands(arguments: Sequence[str], recipe: str | None) -> None:
    """Compare the command lines, and the recipe file that they name, between the processes.

    Raises:
        UserError: a process differs from the first.
    """
    if parallel.world() > 1:
        file = Path(recipe or "")
        content = hashlib.sha256(file.read_bytes()).hexdigest()[:16] if recipe and file.is_file() else ""
        parallel.require_equal_facts(
            {"the command": shlex.join(arguments), "the recipe file": content}, SAME_CODE
        )


def refuse_other_machines(settings: OptimisationSettings, device: torch.device) -> None:
    """Compare versions, source code, kernels, precision and threads between the processes.

    Raises:
        UserError: a process differs from the first.
    """
    if parallel.world() > 1:
        facts = {
            "Python": platform.python_version(),
            "multihead": metadata.version("multihead"),
            "its source code": source_hash(),
            **{_NAMES.get(key, key): value for key, value in computation(settings.precision, device).items()},
        }
        parallel.require_equal_facts(facts, SAME_CODE)


PACKAGE = Path(__file__).parents[1]
_NAMES = {"kernels": "native kernels", "format": "precision", "torch": "PyTorch"}


def refuse_other_data(fingerprint: str) -> None:
    """Compare the data between the processes. Raises ``UserError`` where it differs."""
    parallel.require_equal_facts({"the training data": fingerprint[:16]}, SAME_DATA)


@cache
def source_hash() -> str:
    """Return a hash of the package's source code, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def with_processes(environment: Mapping[str, Any], settings: OptimisationSettings) -> dict[str, Any]:
    """Return the content of environment.json with the number of processes and the sum of their gradients."""
    if parallel.world() == 1:
        return dict(environment)
    reduction = "sharded" if settings.shard_weights else settings.reduction
    processes = {"processes": parallel.world(), "reduction": reduction}
    return {**environment, "machine": {**environment["machine"], **processes}}
