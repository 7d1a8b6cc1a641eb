"""Imports of large modules in about two thirds of the time, and the extras that install optional packages."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from multihead.errors import UserError

EXTRAS = {
    "torch": ("PyTorch", "train"),
    "matplotlib": ("Matplotlib", "train"),
    "PIL": ("Pillow", "train"),
    "sacrebleu": ("sacrebleu", "train"),
    "rapidfuzz": ("RapidFuzz", "train"),
    "multihead_documents": ("multihead-documents", "documents"),
    "pycocotools": ("pycocotools", "detect"),
    "scipy": ("SciPy", "detect"),
    "starlette": ("Starlette", "serve"),
    "uvicorn": ("Uvicorn", "serve"),
    "python_multipart": ("python-multipart", "serve"),
    "prometheus_client": ("prometheus-client", "serve"),
    "ctranslate2": ("CTranslate2", "export"),
    "onnx": ("ONNX", "export"),
    "onnxruntime": ("ONNX Runtime", "export"),
    "sentencepiece": ("SentencePiece", "export"),
    "transformers": ("transformers", "export"),
    "sacremoses": ("sacremoses", "published"),
    "spacy": ("spaCy", "published"),
    "py3langid": ("py3langid", "identify"),
    "fsspec": ("fsspec", "remote"),
    "ray": ("Ray", "ray"),
}
"""Optional packages by the name that is imported: the name for a message, and the extra that installs it."""


@contextmanager
def without_collection() -> Iterator[None]:
    """Context without garbage collection, which would rescan objects that stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def is_installed(module: str) -> bool:
    """Return True if a module can be imported; it is not imported here."""
    return find_spec(module) is not None


def install_command(module: str) -> str:
    """Return the command that installs an optional package."""
    return f"pip install 'multihead[{EXTRAS[module][1]}]'"


def require(module: str, user: str) -> None:
    """Refuse to continue without an optional package.

    Args:
        module: one of ``EXTRAS``.
        user: what needs it, in the words of the user: "`multihead train`".

    Raises:
        UserError: it is not installed; the remedy installs it.
    """
    if not is_installed(module):
        raise _missing(module, user)


@contextmanager
def optional_packages(user: str) -> Iterator[None]:
    """Context in which an import of an optional package that is not installed is the user's error.

    Args:
        user: what needs the package, as for :func:`require`.

    Raises:
        UserError: a package of ``EXTRAS`` is not installed; the remedy installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        # A package that is installed, but broken, is not mended by an extra.
        if module not in EXTRAS or is_installed(module):
            raise
        raise _missing(module, user) from error


def _missing(module: str, user: str) -> UserError:
    if EXTRAS[module][1] == EXTRAS["torch"][1] and not is_installed("torch"):
        module = "torch"  # which package of an extra is imported first says nothing to a user
    return UserError(
        f"{user} needs {EXTRAS[module][0]}, which is not installed", remedy=install_command(module)
    )
