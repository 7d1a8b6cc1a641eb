"""The command line's words for Python: ``multihead.load("runs/de-en").translate(["Guten Tag."])``.

========== ================================================== =========================
a run of   is loaded as                                       and says
========== ================================================== =========================
translator :class:`LoadedTranslator`                          ``translate(lines)``
GPT        :class:`LoadedWriter`                              ``generate(prompt)``
BERT       :class:`LoadedFiller`                              ``fill(text)``
classifier :class:`LoadedTexts`, :class:`LoadedPictures`      ``classify([...])``
DALL-E     :class:`LoadedArtist`                              ``draw(caption, count)``
========== ================================================== =========================

Each of them also says ``inspect(...)``: a page of what it attends to, which a notebook shows in place.
``multihead.train`` makes a run, ``multihead.evaluate`` measures one, ``multihead.compare`` puts several side
by side.
"""

from multihead.api.loaded import (
    LoadedArtist,
    LoadedFiller,
    LoadedPictures,
    LoadedTexts,
    LoadedTranslator,
    LoadedWriter,
)
from multihead.api.loading import Loaded, load
from multihead.api.measuring import ComparedRuns, compare, evaluate
from multihead.api.training import train

__all__ = [
    "ComparedRuns",
    "Loaded",
    "LoadedArtist",
    "LoadedFiller",
    "LoadedPictures",
    "LoadedTexts",
    "LoadedTranslator",
    "LoadedWriter",
    "compare",
    "evaluate",
    "load",
    "train",
]
