"""The exercises of the course: each check returns a fault in words, or None for a solution."""

from collections.abc import Mapping

from multihead.apps.course.exercises import attention, beyond, recurrent, transformer
from multihead.apps.course.exercises.compare import Check

EXERCISES: Mapping[str, Check] = {
    **recurrent.EXERCISES,
    **attention.EXERCISES,
    **transformer.EXERCISES,
    **beyond.EXERCISES,
}
"""All exercises by name, in the order of the chapters."""

__all__ = ["EXERCISES"]
