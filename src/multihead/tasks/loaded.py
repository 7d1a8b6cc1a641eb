"""Loaded runs: one class per task, each with an ``inspect`` method that shows its attention."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from multihead.inspect.page import HtmlPage, PageOptions, explore_text, make_page
from multihead.inspect.page.kinds import BIDIRECTIONAL, CAUSAL
from multihead.inspect.page.packing import Json
from multihead.inspect.text_inspection import TextInspection
from multihead.system.hardware import Precision
from multihead.tasks.classification.attention import inspect_classification
from multihead.tasks.classification.text_classifier import Text, TextClassifier
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.image_generator import Drawing, ImageGenerator
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.drawing.settings import SearchSettings as DrawingSettings
from multihead.tasks.language.attention import inspect_text
from multihead.tasks.language.text_generator import TextGenerator
from multihead.tasks.masked.attention import inspect_masked_text
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.pictures.attention import inspect_image
from multihead.tasks.pictures.page import explore_image
from multihead.tasks.pictures.picture_classifier import PictureClassifier, PicturePrediction, Views
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.page import explore
from multihead.tasks.translation.text_methods import ListsMethods, TextMethods, changed


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
            known = texts.source_language and texts.target_language
            way = f", {texts.source_language}-{texts.target_language}" if known else ""
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
        return make_page(explore(directed, text, target, full=full))


class LoadedTextGenerator(ListsMethods, TextGenerator):
    """Language model that returns whole texts; :meth:`write` streams them."""

    def generate(self, prompt: str = "", *, number: int = 0, **search: object) -> str:
        """Return a prompt with its continuation.

        Args:
            prompt: the beginning of the text.
            number: index of the sample: other numbers give other texts for the same prompt and seed.
            search: keys of [search] that override the run's recipe: max_tokens, temperature, top_k, top_p,
                seed, stop.

        Raises:
            UserError: a prompt that the model cannot take, an unknown key, or a value out of range.
        """
        return prompt + "".join(self.write(prompt, changed(self.settings, search), number=number))

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text, with predictions for the next token.

        Raises:
            UserError: the text is empty, or the model cannot take it.
        """
        return _text_page(self, inspect_text(self, text), CAUSAL, full)


class LoadedMaskFiller(ListsMethods, MaskFiller):
    """Masked language model, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text, with predictions for each [MASK].

        Raises:
            UserError: the text is empty, or the model cannot take it.
        """
        return _text_page(self, inspect_masked_text(self, text), BIDIRECTIONAL, full)


class LoadedTextClassifier(ListsMethods, TextClassifier):
    """Text classifier, with inspection of its attention."""

    def inspect(self, text: Text, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text or a pair of texts, with the predicted classes.

        Raises:
            UserError: a text is empty; one text for a model of pairs, or a pair for another.
        """
        return _text_page(self, inspect_classification(self, text), BIDIRECTIONAL, full)


class LoadedImageClassifier(ListsMethods, PictureClassifier):
    """Image classifier that returns its predictions as a list, with inspection of its attention."""

    def classify(self, pictures: Sequence[str | Path], *, views: Views = 1) -> list[PicturePrediction]:
        """Return a prediction per image file, in order; its ``name`` is the most probable class.

        Args:
            pictures: image files.
            views: number of views to average the probabilities over: 2 adds the mirror image, 10 also
                shifts both by a few pixels in each direction.

        Raises:
            UserError: a file is missing, damaged or not an image.
        """
        return list(super().classify(pictures, views=views))

    def inspect(self, picture: str | Path, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over an image file.

        Raises:
            UserError: the file is missing, damaged or not an image.
        """
        inspection = inspect_image(self, Path(picture))
        return make_page(explore_image(inspection, self.model, PageOptions(full=full)))


class LoadedImageGenerator(ListsMethods, ImageGenerator):
    """Text-to-image model, with inspection of its attention to the caption."""

    def draw(
        self,
        caption: str,
        count: int = 1,
        settings: DrawingSettings | None = None,
        *,
        complete: str | Path | None = None,
        **search: object,
    ) -> list[Drawing]:
        """Generate images for a caption, best match first; each has its ``picture``.

        Args:
            caption: the prompt.
            count: number of images.
            settings: sampling settings; None: those of the run's recipe.
            complete: an image whose upper part is kept and completed; the upper half of a square one.
            search: keys of [search] to override (``guidance=2.0``).

        Raises:
            UserError: a caption with unknown words or too long for the model, an image that cannot be read,
                an unknown key, or a value out of range.
        """
        chosen = changed(settings or self.settings, search)
        return super().draw(caption, count, chosen, complete=None if complete is None else Path(complete))

    def inspect(self, caption: str, picture: str | Path | None = None, *, full: bool = False) -> HtmlPage:
        """Return a page of the attention from image positions to the words of the caption.

        Args:
            caption: the prompt.
            picture: an image file to use in place of a generated image.
            full: embed everything, whatever the size.

        Raises:
            UserError: a caption with unknown words or too long for the model, or an unreadable image.
        """
        inspection = inspect_drawing(self, caption, given=None if picture is None else Path(picture))
        return make_page(explore_drawing(inspection, PageOptions(full=full)))


def _text_page(
    loaded: LoadedTextGenerator | LoadedMaskFiller | LoadedTextClassifier,
    inspection: TextInspection,
    kind: Json,
    full: bool,
) -> HtmlPage:
    options = PageOptions(full=full)
    return make_page(explore_text(inspection, loaded.model, loaded.tokenizer, kind, options))
