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
detector        :class:`LoadedDetector`        ``detect(files)``
sets of images  :class:`LoadedOddOneOut`       ``odd(files)``
=============== ============================== =========================

Classes of models of text or of single images also have ``inspect(...)``, which returns a page of the
model's attention; a notebook displays it inline. ``multihead.train`` trains a run, ``multihead.evaluate``
scores it, ``multihead.compare`` compares several.
"""

from multihead.api.loaded import (
    LoadedImageClassifier,
    LoadedImageGenerator,
    LoadedMaskFiller,
    LoadedTextClassifier,
    LoadedTextGenerator,
    LoadedTranslator,
)
from multihead.api.loaded_sets import LoadedDetector, LoadedOddOneOut, LoadedTagger
from multihead.api.loading import Loaded, load
from multihead.api.measuring import ComparedRuns, compare, evaluate
from multihead.api.training import train

# Former names, kept for one version.
LoadedWriter = LoadedTextGenerator
LoadedFiller = LoadedMaskFiller
LoadedTexts = LoadedTextClassifier
LoadedPictures = LoadedImageClassifier
LoadedArtist = LoadedImageGenerator

__all__ = [
    "ComparedRuns",
    "Loaded",
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
