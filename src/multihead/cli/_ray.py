"""``multihead translate --engine ray``: the parts of a large file as tasks of Ray Data."""

import importlib
import logging
import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from multihead.cli import main
from multihead.errors import UserError

TASKS_PER_CPU = 8
"""Tasks of a processor: each loads the model once, and the last ones keep few processors waiting."""


def translate_on_ray(arguments: Sequence[str], blocks: int) -> None:
    """Translate all blocks as tasks of Ray Data, and wait for them.

    A task is ``multihead translate ... --part i/n``: killed, it is run again by Ray, and resumes. The tasks
    of a cluster need the input, the runs and the output folder on a shared disk.

    Args:
        arguments: the command line after ``translate``, with ``--engine ray``.
        blocks: number of blocks.

    Raises:
        UserError: Ray is not installed; a task fails.
    """
    if not blocks:
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    try:
        ray: ModuleType = importlib.import_module("ray")
        data: ModuleType = importlib.import_module("ray.data")
    except ImportError as error:
        remedy = "pip install 'multihead[ray]'"
        raise UserError("Ray is not installed", place="--engine ray", remedy=remedy) from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        logging.getLogger("ray.data").setLevel(logging.ERROR)
    tasks = min(blocks, TASKS_PER_CPU * max(1, int(ray.cluster_resources().get("CPU", 1))))
    common = _of_a_part(arguments)
    folder = os.getcwd()  # noqa: PTH109 (relative paths are relative to it in the tasks too)

    def run(row: dict[str, Any]) -> dict[str, Any]:
        os.chdir(folder)
        return {"code": main(["translate", *common, "--part", f"{row['id'] + 1}/{tasks}"])}

    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    rows = data.range(tasks, override_num_blocks=tasks).map(run, num_cpus=1).take_all()
    if failed := [row["code"] for row in rows if row["code"]]:
        fact = f"{len(failed)} of {tasks} parts failed (exit code {failed[0]})"
        remedy = "The same command with --part 1/1 in place of --engine ray shows the reason."
        raise UserError(fact, place="--engine ray", remedy=remedy)


def _of_a_part(arguments: Sequence[str]) -> list[str]:
    """Return the arguments for a part, without ``--engine`` and ``--join``."""
    rest, skip = [], False
    for argument in arguments:
        if not skip and argument.partition("=")[0] not in ("--engine", "--join"):
            rest.append(argument)
        skip = argument in ("--engine", "--join")
    return rest
