"""Settings: the sections of a recipe, each key with its help text, range and default.

Values come from a recipe (TOML) and the command line, see ``multihead.recipe``. The settings of a model are
defined beside it. The other sections depend on the task of the model, ``tasks/NAME/settings.py``.
"""

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import (
    FirstStage,
    OptimisationSettings,
    TrainingSettings,
    ValidationSchedule,
)
from multihead.recipe.settings.translation import (
    DataSettings,
    DocumentFormat,
    FileFormat,
    SearchSettings,
    TextFormat,
    TokenizerSettings,
    ValidationSettings,
)

__all__ = [
    "DataSettings",
    "DocumentFormat",
    "FileFormat",
    "FirstStage",
    "OptimisationSettings",
    "SearchSettings",
    "Settings",
    "TextFormat",
    "TokenizerSettings",
    "TrainingSettings",
    "ValidationSchedule",
    "ValidationSettings",
]
