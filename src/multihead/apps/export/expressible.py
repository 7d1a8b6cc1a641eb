"""The description that an export can express, and the error of an export that computes something else."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from torch import nn

from multihead.errors import UserError
from multihead.nn.description import UndescribedError, describe

S = TypeVar("S")


def expressible_description(
    model: nn.Module,
    kind: type[S],
    not_expressible: Callable[[S], list[str]],
    *,
    target: str,
    place: str,
    remedy: str = "Translate with `multihead translate`.",
    faults: Sequence[str] = (),
) -> S:
    """Return the description of a model that an export can express.

    Args:
        model: the model.
        kind: class of the description.
        not_expressible: returns the reasons why the target cannot express a description.
        target: the export's target, as the error names it.
        place: the run, for the error.
        remedy: what to do with another model.
        faults: reasons why the target cannot express the rest of the run.

    Raises:
        UserError: the target cannot express the model; the message has every reason.
    """
    try:
        described = describe(model, kind)
        reasons = [*not_expressible(described), *faults]
    except UndescribedError as error:
        reasons = [str(error), *faults]
    if reasons:
        raise UserError(
            f"{target} cannot express this model: {'; '.join(reasons)}", place=place, remedy=remedy
        )
    return described


def different_model(target: str, difference: str, place: str) -> UserError:
    """Return the error of an export that computes something else than the model."""
    return UserError(
        f"{target} computes a different model: {difference}",
        place=place,
        remedy="A layer computes something that its description omits; complete it (ARCHITECTURE.md).",
    )
