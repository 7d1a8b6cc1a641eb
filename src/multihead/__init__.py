"""Attention models, from seq2seq to the Transformer: train a translator, use it, inspect its attention.

>>> import multihead
>>> multihead.train(source="train.de", target="train.en", run="runs/de-en")  # doctest: +SKIP
>>> translator = multihead.load("runs/de-en")  # doctest: +SKIP
>>> translator.translate(["Guten Tag."])  # doctest: +SKIP

The command line (``multihead --help``) offers the same and more. PyTorch is imported on first use.
"""

from typing import TYPE_CHECKING, Any

from multihead.system.cores import wait_briefly
from multihead.system.imports import uncollected

if TYPE_CHECKING:
    from multihead.api import compare, evaluate, load, train

    __version__: str

__all__ = ["__version__", "compare", "evaluate", "load", "train"]


wait_briefly()


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in ("compare", "evaluate", "load", "train"):
        with uncollected():
            from multihead import api  # noqa: PLC0415 (importing torch takes a second)

        return getattr(api, name)
    if name == "__version__":
        import importlib.metadata  # noqa: PLC0415 (slow to import)

        return importlib.metadata.version("multihead")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
