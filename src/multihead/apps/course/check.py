"""Checks of the course's exercises: a reader's function against the package's."""

from collections.abc import Callable
from typing import Any

from multihead.apps.course.exercises import EXERCISES
from multihead.apps.course.korean import NAMES, say
from multihead.errors import UserError

ENGLISH = {korean: name for name, korean in NAMES.items()}


class _UnwrittenError(Exception):
    """The reader's function still returns the three dots that the chapter wrote."""


def check(name: str, function: Callable[..., Any]) -> None:
    """Run an exercise's check on a function and print the finding, in the language of its name.

    Args:
        name: the exercise, as the chapter names it, in English or Korean.
        function: the reader's solution.

    Raises:
        UserError: no such exercise.
    """
    fault = fault_of(name, function)
    finding = say("solved") if fault is None else say("not yet; {}", fault)
    print(f"{name}: {finding.korean if name in ENGLISH else finding}")


def fault_of(name: str, function: Callable[..., Any]) -> str | None:
    """Return the fault that an exercise's check finds in a function; None: it is solved.

    Raises:
        UserError: no such exercise.
    """
    name = ENGLISH.get(name, name)
    if name not in EXERCISES:
        raise UserError(f"no such exercise: {name!r}", remedy=f"One of: {', '.join(sorted(EXERCISES))}.")

    def written(*given: Any) -> Any:
        answer = function(*given)
        if answer is ...:
            raise _UnwrittenError
        return answer

    try:
        return EXERCISES[name](written)
    except _UnwrittenError:
        return say("the three dots are still there")
    except Exception as error:  # whatever a reader's code may raise is a finding, not a crash
        return f"{type(error).__name__}: {error}"
