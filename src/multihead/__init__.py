"""Attention models, from seq2seq to the Transformer: train a translator, use it, inspect its attention.

>>> import multihead
>>> multihead.train(source="train.de", target="train.en", run="runs/de-en")  # doctest: +SKIP
>>> translator = multihead.load("runs/de-en")  # doctest: +SKIP
>>> translator.translate(["Guten Tag."])  # doctest: +SKIP

The command line (``multihead --help``) offers the same and more. PyTorch is imported on first use.
"""

from typing import TYPE_CHECKING, Any

from multihead.system.cores import wait_briefly
from multihead.system.imports import optional_packages, without_collection

if TYPE_CHECKING:
    from multihead.workflows.corpus_training import train
    from multihead.workflows.loading import load
    from multihead.workflows.measuring import compare, evaluate

    __version__: str

__all__ = ["__version__", "compare", "evaluate", "load", "train"]


_MODULES = {"compare": "measuring", "evaluate": "measuring", "load": "loading", "train": "corpus_training"}
"""Modules of ``multihead.workflows``, imported on first use: importing PyTorch takes a second."""

wait_briefly()


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        import importlib  # noqa: PLC0415 (slow to import)

        with optional_packages(f"`multihead.{name}`"), without_collection():
            return getattr(importlib.import_module(f"multihead.workflows.{_MODULES[name]}"), name)
    if name == "__version__":
        import importlib.metadata  # noqa: PLC0415 (slow to import)

        return importlib.metadata.version("multihead")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
