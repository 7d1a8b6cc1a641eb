"""Checks of the course's exercises: a reader's function against the package's."""

from collections.abc import Callable
from typing import Any

from multihead.apps.course.exercises import EXERCISES
from multihead.errors import UserError


def check(name: str, function: Callable[..., Any]) -> None:
    """Run an exercise's check on a function and print the finding.

    Args:
        name: the exercise, as the chapter names it.
        function: the reader's solution.

    Raises:
        UserError: no such exercise.
    """
    fault = fault_of(name, function)
    print(f"{name}: solved" if fault is None else f"{name}: not yet; {fault}")


def fault_of(name: str, function: Callable[..., Any]) -> str | None:
    """Return the fault that an exercise's check finds in a function; None: it is solved.

    Raises:
        UserError: no such exercise.
    """
    if name not in EXERCISES:
        raise UserError(f"no such exercise: {name!r}", remedy=f"One of: {', '.join(sorted(EXERCISES))}.")
    try:
        return EXERCISES[name](function)
    except Exception as error:  # whatever a reader's code may raise is a finding, not a crash
        return f"{type(error).__name__}: {error}"
