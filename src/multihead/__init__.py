"""multihead: attention models, from seq2seq to the Transformer. Train a translator, use it, look inside it.

>>> import multihead
>>> multihead.train(source="train.de", target="train.en", run="runs/de-en")  # doctest: +SKIP
>>> translator = multihead.load("runs/de-en")  # doctest: +SKIP
>>> translator.translate(["Guten Tag."])  # doctest: +SKIP

The command line (``multihead --help``) does the same and more. Nothing heavy is imported until it is used.
"""

from typing import TYPE_CHECKING, Any

from multihead.cores import wait_briefly

if TYPE_CHECKING:
    from multihead.api import compare, evaluate, load, train

    __version__: str

__all__ = ["__version__", "compare", "evaluate", "load", "train"]


wait_briefly()


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in ("compare", "evaluate", "load", "train"):
        from multihead import api  # noqa: PLC0415 (torch takes a second, `multihead --help` must not)

        return getattr(api, name)
    if name == "__version__":
        import importlib.metadata  # noqa: PLC0415 (the same)

        return importlib.metadata.version("multihead")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
