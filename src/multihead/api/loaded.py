"""Loaded runs: one class per task, each with an ``inspect`` method that shows its attention."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from pydantic import ValidationError

from multihead.errors import UserError
from multihead.generation import Translator
from multihead.generation.image_generator import Drawing, ImageGenerator
from multihead.generation.mask_filler import MaskFiller
from multihead.generation.picture_classifier import PictureClassifier, PicturePrediction, Views
from multihead.generation.text_classifier import TextClassifier
from multihead.generation.text_generator import TextGenerator
from multihead.generation.text_results import TextTranslation
from multihead.generation.text_translator import TextTranslator
from multihead.generation.translation import Translation
from multihead.hardware import Precision
from multihead.inspect.drawing_inspection import inspect_drawing
from multihead.inspect.image_inspection import inspect_image
from multihead.inspect.page import Page, PageOptions, explore, explore_text, make_page
from multihead.inspect.page.drawing import explore_drawing
from multihead.inspect.page.image import explore_image
from multihead.inspect.page.kinds import BIDIRECTIONAL, CAUSAL
from multihead.inspect.page.packing import Json
from multihead.inspect.text_inspection import (
    TextInspection,
    inspect_classification,
    inspect_masked_text,
    inspect_text,
)
from multihead.recipe.values import in_words, spelled
from multihead.settings import SearchSettings, Settings
from multihead.settings.tasks.drawing import SearchSettings as DrawingSettings
from multihead.text.terms import Glossary
from multihead.workflows.without_effect import refuse_other_methods

AnySettings = TypeVar("AnySettings", bound=Settings)


class ListsMethods:
    """Lists the public methods in the ``AttributeError`` for a method of another kind of run."""

    # Hidden from type checkers, which would otherwise accept every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            kind = type(self)
            if name.startswith("_"):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            methods = [
                each for each in dir(kind) if not each.startswith("_") and callable(getattr(kind, each))
            ]
            available = ", ".join(f"{each}()" for each in methods if each != "load")
            raise AttributeError(f"{kind.__name__} has no method {name!r}; available are {available}")


_OWN = ("prefixes", "progress", "first_number", "to", "source", "tags", "zero_shot", "phrases")
"""Arguments of ``Translator.translate`` that are no keys of [search]."""


class LoadedTranslator(ListsMethods, Translator):
    """Translator, or an ensemble of several, with inspection of its attention."""

    folders: tuple[str, ...] = ()

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

    @overload
    def translate(self, lines: str, settings: SearchSettings | None = None, **given: Any) -> str: ...
    @overload
    def translate(
        self, lines: Sequence[str], settings: SearchSettings | None = None, **given: Any
    ) -> list[Translation]: ...
    def translate(
        self, lines: str | Sequence[str], settings: SearchSettings | None = None, **given: Any
    ) -> str | list[Translation]:
        """Translate one text into a text, or lines into a translation each.

        One text may have several sentences and lines, placeholders and tags, as in
        :meth:`translate_texts`. Of a list, each line is one sentence, and is given to the model as it is. The
        translation of an empty line is empty. A line that is too long for the model is not translated; the
        note of its translation says so. Nothing is truncated silently.

        Args:
            lines: one text, or lines of one sentence each.
            settings: search settings; None: those of the run's recipe.
            given: keys of [search] to override (``beam_size=2``), and ``prefixes``, ``progress``,
                ``first_number``, ``phrases`` and, for a model of several directions, ``to``, ``source``,
                ``tags`` and ``zero_shot``, as in :meth:`Translator.translate`. For one text also
                ``glossary`` and ``sentences``.

        Raises:
            UserError: an unknown key, a value out of range, contradictory settings, or a setting that has no
                effect on the method of search.
        """
        if isinstance(lines, str):
            return self.translate_texts([lines], settings, **given)[0].text
        own = {key: given.pop(key) for key in _OWN if key in given}
        chosen = self._chosen(settings, given)
        return super().translate(lines, chosen, **own)

    def translate_texts(
        self,
        texts: Sequence[str],
        settings: SearchSettings | None = None,
        *,
        glossary: Glossary | str | Path | None = None,
        sentences: bool = True,
        to: str | None = None,
        source: str | None = None,
        tags: Sequence[str] = (),
        zero_shot: bool = False,
        **given: Any,
    ) -> list[TextTranslation]:
        """Translate texts of any length: sentences, placeholders and tags are kept apart and put together.

        Args:
            texts: each with any number of lines and sentences.
            settings: search settings; None: those of the run's recipe.
            glossary: terms that the translations must have, or a file of them.
            sentences: False: each line is one sentence.
            to: target language of a model of several directions; this and the following as in
                :meth:`Translator.toward`.
            source: source language.
            tags: domains or origins.
            zero_shot: allow a direction that was not trained.
            given: keys of [search] to override; ``n_best`` gives alternatives.

        Raises:
            UserError: as :meth:`translate` does; a broken glossary.
        """
        named = to is not None or source is not None or bool(tags)
        directed = self.toward(to, source, tags, zero_shot=zero_shot) if named else self.directed()
        if isinstance(glossary, str | Path):
            glossary = Glossary.load(glossary)
        chosen = self._chosen(settings, given)
        translator = directed._texts()
        return translator.translate(texts, chosen, sentences=sentences, glossary=glossary)

    def _texts(self) -> TextTranslator:
        return TextTranslator.of_runs(self, *self.folders) if self.folders else TextTranslator(self)

    def _chosen(self, settings: SearchSettings | None, given: dict[str, Any]) -> SearchSettings:
        chosen = _changed(settings or self.settings, given)
        refuse_other_methods([f"search.{key}" for key in given], chosen.method)
        return chosen

    def inspect(
        self, text: str, target: str | None = None, *, full: bool = False, to: str | None = None
    ) -> Page:
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
        return prompt + "".join(self.write(prompt, _changed(self.settings, search), number=number))

    def inspect(self, text: str, *, full: bool = False) -> Page:
        """Return a page of the model's attention over a text, with predictions for the next token.

        Raises:
            UserError: the text is empty, or the model cannot take it.
        """
        return _text_page(self, inspect_text(self, text), CAUSAL, full)


class LoadedMaskFiller(ListsMethods, MaskFiller):
    """Masked language model, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> Page:
        """Return a page of the model's attention over a text, with predictions for each [MASK].

        Raises:
            UserError: the text is empty, or the model cannot take it.
        """
        return _text_page(self, inspect_masked_text(self, text), BIDIRECTIONAL, full)


class LoadedTextClassifier(ListsMethods, TextClassifier):
    """Text classifier, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> Page:
        """Return a page of the model's attention over a text, with the predicted classes.

        Raises:
            UserError: the text is empty.
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

    def inspect(self, picture: str | Path, *, full: bool = False) -> Page:
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
        chosen = _changed(settings or self.settings, search)
        return super().draw(caption, count, chosen, complete=None if complete is None else Path(complete))

    def inspect(self, caption: str, picture: str | Path | None = None, *, full: bool = False) -> Page:
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


def _changed(settings: AnySettings, given: dict[str, Any]) -> AnySettings:
    """Return settings with some keys changed. Raises ``UserError``: unknown key, value out of range."""
    fields = type(settings).model_fields
    try:
        return type(settings).model_validate({**dict(settings), **given})
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
    if key not in fields:
        raise UserError(f'there is no setting "{key}"', remedy=f"The settings are {', '.join(fields)}.")
    raise UserError(f"{key} = {spelled(given[key])}, but it must be {in_words(fields[key])}")


def _text_page(
    loaded: LoadedTextGenerator | LoadedMaskFiller | LoadedTextClassifier,
    inspection: TextInspection,
    kind: Json,
    full: bool,
) -> Page:
    options = PageOptions(full=full)
    return make_page(explore_text(inspection, loaded.model, loaded.tokenizer, kind, options))
