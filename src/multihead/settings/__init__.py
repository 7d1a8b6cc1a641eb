"""What can be set: the sections of a recipe, each key with its meaning, range and default.

Values come from a recipe (TOML) and the command line, see ``multihead.recipe``. The model's own settings live
beside the model; what else there is depends on the model's task, a file in ``settings/tasks``.
"""

from multihead.settings.base import Settings
from multihead.settings.tasks.translation import (
    DataSettings,
    SearchSettings,
    TokenizerSettings,
    ValidationSettings,
)
from multihead.settings.training import FirstStage, OptimisationSettings, TrainingSettings, ValidationSchedule

__all__ = [
    "DataSettings",
    "FirstStage",
    "OptimisationSettings",
    "SearchSettings",
    "Settings",
    "TokenizerSettings",
    "TrainingSettings",
    "ValidationSchedule",
    "ValidationSettings",
]
