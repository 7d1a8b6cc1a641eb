"""Settings for a corpus that comes without a recipe, each with its reason.

``profile`` measures the corpus in one pass; ``pieces``, ``sizes`` and ``duration`` are the decisions, pure
functions that return a value and its reason; ``suggest`` combines them. No rule knows a corpus by name.
``suggest_settings`` uses the size of the corpus alone, for several corpora in one model.
"""

from multihead.tasks.translation.suggest.combined import (
    CorpusSize,
    RequestedSettings,
    Suggestion,
    alternative,
    measure_corpus,
    suggest,
    suggest_settings,
)
from multihead.tasks.translation.suggest.profile import CorpusProfile, measure, profile
from multihead.tasks.translation.suggest.sizes import (
    MUON_RATE_FACTOR,
    OTHER_MODELS_RATE_FACTOR,
    model_settings,
)

__all__ = [
    "MUON_RATE_FACTOR",
    "OTHER_MODELS_RATE_FACTOR",
    "CorpusProfile",
    "CorpusSize",
    "RequestedSettings",
    "Suggestion",
    "alternative",
    "measure",
    "measure_corpus",
    "model_settings",
    "profile",
    "suggest",
    "suggest_settings",
]
