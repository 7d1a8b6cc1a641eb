"""Tasks, a folder each: settings, data, validation, what a trained run can do; registered by its ``TASK``."""

from multihead.recipe.tasks import Task

__all__ = ["Task"]
