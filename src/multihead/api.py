"""The command line's words for Python: ``multihead.load("runs/de-en").translate(["Guten Tag."])``."""

from pathlib import Path

from multihead.generation import Translator


def load(*runs: str | Path, device: str = "auto") -> Translator:
    """Return a trained run as a translator; several runs make an ensemble.

    Raises:
        UserError: not a run folder, not trained yet, or vocabularies that differ.
    """
    return Translator.load(*runs, device=device)
