"""Python API with the names of the command line: ``multihead.load("runs/de-en").translate("Guten Tag.")``.

=============== ============================== =========================
run             class                          method
=============== ============================== =========================
translator      :class:`LoadedTranslator`      ``translate(text)``
GPT             :class:`LoadedTextGenerator`   ``generate(prompt)``
BERT            :class:`LoadedMaskFiller`      ``fill(text)``
BERT classifier :class:`LoadedTextClassifier`  ``classify(texts)``
ViT             :class:`LoadedImageClassifier` ``classify(files)``
DALL-E          :class:`LoadedImageGenerator`  ``draw(caption, count)``
tagger          :class:`LoadedTagger`          ``tag(sentences)``
spans           :class:`LoadedAnswerer`        ``answer(questions)``
detector        :class:`LoadedDetector`        ``detect(files)``
sets of images  :class:`LoadedOddOneOut`       ``odd(files)``
=============== ============================== =========================

Classes of models of text or of single images also have ``inspect(...)``, which returns a page of the
model's attention; a notebook displays it inline. ``multihead.train`` trains a run, ``multihead.evaluate``
scores it, ``multihead.compare`` compares several.
"""

import importlib
from typing import TYPE_CHECKING, Any

from multihead.system.imports import optional_packages
from multihead.workflows.loading import load

if TYPE_CHECKING:
    from multihead.api.loaded_sets import LoadedAnswerer, LoadedDetector, LoadedOddOneOut, LoadedTagger
    from multihead.tasks.loaded import (
        LoadedImageClassifier,
        LoadedImageGenerator,
        LoadedMaskFiller,
        LoadedTextClassifier,
        LoadedTextGenerator,
        LoadedTranslator,
    )
    from multihead.workflows.corpus_training import train
    from multihead.workflows.measuring import ComparedRuns, compare, evaluate

__all__ = [
    "ComparedRuns",
    "LoadedAnswerer",
    "LoadedDetector",
    "LoadedImageClassifier",
    "LoadedImageGenerator",
    "LoadedMaskFiller",
    "LoadedOddOneOut",
    "LoadedTagger",
    "LoadedTextClassifier",
    "LoadedTextGenerator",
    "LoadedTranslator",
    "compare",
    "evaluate",
    "load",
    "train",
]

_MODULES = {
    **dict.fromkeys(("compare", "evaluate", "ComparedRuns"), "measuring"),
    **dict.fromkeys(("LoadedAnswerer", "LoadedDetector", "LoadedOddOneOut", "LoadedTagger"), "loaded_sets"),
    "train": "training",
}
"""Modules of names that are not in ``loaded``; all need PyTorch, and are imported on first use."""
_FORMER = {
    "LoadedWriter": "LoadedTextGenerator",
    "LoadedFiller": "LoadedMaskFiller",
    "LoadedTexts": "LoadedTextClassifier",
    "LoadedPictures": "LoadedImageClassifier",
    "LoadedArtist": "LoadedImageGenerator",
}
"""Former names, kept for one version."""


def __getattr__(name: str) -> Any:
    name = _FORMER.get(name, name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with optional_packages(f"`multihead.api.{name}`" if name[0].isupper() else f"`multihead.{name}`"):
        return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'loaded')}"), name)
