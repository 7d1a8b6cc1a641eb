"""The translator that ``multihead.load`` returns, with PyTorch."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Self

from multihead.inspect.heatmap import heatmap
from multihead.inspect.maps import align
from multihead.inspect.page import HtmlPage, make_page
from multihead.system.hardware import Precision
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.translation.attention import Recording
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.page import explore
from multihead.tasks.translation.text_methods import TextMethods


class LoadedTranslator(ListsMethods, TextMethods, Translator):
    """Translator, or an ensemble of several, with inspection of its attention."""

    @classmethod
    def load(cls, *folders: str | Path, device: str = "auto", precision: Precision = "auto") -> Self:
        """Load a run, or several as an ensemble; see :meth:`Translator.load`."""
        loaded = super().load(*folders, device=device, precision=precision)
        loaded.folders = tuple(map(str, folders))
        return loaded

    def __repr__(self) -> str:
        parameters = sum(weight.numel() for model in self.models for weight in model.parameters())
        if self.directions is not None:
            way = f", {self.directions}" if self.asked is None else f", to {self.asked.target}"
        else:
            texts = self._texts()
            pair = texts.source_language, texts.target_language
            way = f", {'-'.join(pair)}" if all(pair) else ""
        models = f"{len(self.models)} models, " if len(self.models) > 1 else ""
        runs = ", ".join(self.folders)
        return f"<Translator {runs}{way}: {models}{parameters:,} parameters on {self.device}>"

    def inspect(
        self, text: str, target: str | None = None, *, full: bool = False, to: str | None = None
    ) -> HtmlPage:
        """Return a page of the model's attention for a sentence; a notebook displays it inline.

        Args:
            text: the source sentence.
            target: a translation to show first, before the model's own.
            full: embed everything, whatever the size.
            to: target language, for a model of several directions.

        Raises:
            UserError: the translator is an ensemble; the sentence is empty or too long; see ``toward``.
        """
        undirected = self.directions is not None and self.asked is None
        directed = self.toward(to) if undirected or to is not None else self
        exploration = explore(directed, text, target, full=full)
        return replace(make_page(exploration), figure=lambda: _alignment_png(exploration.recordings[0]))


def _alignment_png(recording: Recording) -> bytes:
    """Return the heat map of the most informative cross-attention as PNG."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alignment.png"
        heatmap(align(recording.records, recording.source, recording.target), path)
        return path.read_bytes()
