"""A decided setting with its reason."""

from typing import Generic, NamedTuple, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Decision(NamedTuple, Generic[T_co]):
    """A value, and the reason for it in words that a user understands."""

    value: T_co
    reason: str
