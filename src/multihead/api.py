"""The command line's words for Python: ``multihead.load("runs/de-en").translate(["Guten Tag."])``."""

from pathlib import Path

from multihead.generation import Translator
from multihead.inspect.page import Page, explore, make_page


class LoadedTranslator(Translator):
    """A translator that can also show what it attends to."""

    def inspect(self, text: str, target: str | None = None, *, full: bool = False) -> Page:
        """Return a page of the model's attention to a sentence; a notebook shows it in place.

        Args:
            text: what to translate.
            target: a translation to look at first, in place of the model's own.
            full: embed everything, however large.

        Raises:
            UserError: an ensemble; no words; more of them than the model can take.
        """
        return make_page(explore(self, text, target, full=full))


def load(*runs: str | Path, device: str = "auto") -> LoadedTranslator:
    """Return a trained run as a translator; several runs make an ensemble.

    Raises:
        UserError: not a run folder, not trained yet, or vocabularies that differ.
    """
    return LoadedTranslator.load(*runs, device=device)
