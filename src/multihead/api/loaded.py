"""What a trained run is in Python, by what it was trained for; each can also show what it attends to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from multihead.api.offering import Offering
from multihead.errors import UserError
from multihead.generation import Translator
from multihead.generation.image_generator import Drawing, ImageGenerator
from multihead.generation.mask_filler import MaskFiller
from multihead.generation.picture_classifier import Guess, PictureClassifier, Views
from multihead.generation.text_classifier import TextClassifier
from multihead.generation.text_generator import TextGenerator
from multihead.generation.translation import Translation
from multihead.inspect.drawing import paint
from multihead.inspect.image_inspection import see
from multihead.inspect.page import Asked, Page, explore, explore_reading, make_page
from multihead.inspect.page.drawn import explore_painting
from multihead.inspect.page.kinds import BOTH_WAYS, CAUSAL
from multihead.inspect.page.over_picture import explore_sight
from multihead.inspect.page.packing import Json
from multihead.inspect.text_inspection import Reading, read_class, read_gaps, read_text
from multihead.recipe.values import in_words, spelled
from multihead.settings import SearchSettings, Settings
from multihead.settings.tasks.drawing import SearchSettings as DrawingSettings

AnySettings = TypeVar("AnySettings", bound=Settings)


_OWN = ("prefixes", "progress", "first_number", "to", "source", "tags", "zero_shot")
"""Arguments of ``Translator.translate`` that are no keys of [search]."""


class LoadedTranslator(Offering, Translator):
    """A translator that can also show what it attends to."""

    def translate(
        self, lines: Sequence[str], settings: SearchSettings | None = None, **given: Any
    ) -> list[Translation]:
        """Translate lines; the results come in their order.

        A line without a word gives an empty text. A line that is longer than the model can read is not
        translated, and its note says so; nothing is ever cut silently.

        Args:
            lines: a sentence each.
            settings: how to search; None: as the run's recipe says.
            given: keys of [search] that shall be other than that (``beam_size=2``); and of a model of several
                directions ``to``, ``source``, ``tags`` and ``zero_shot``, and ``prefixes``, ``progress`` and
                ``first_number``, as in :meth:`Translator.translate`.

        Raises:
            UserError: an unknown key, or a value out of range; settings that contradict each other.
        """
        own = {key: given.pop(key) for key in _OWN if key in given}
        return super().translate(lines, _changed(settings or self.settings, given), **own)

    def inspect(
        self, text: str, target: str | None = None, *, full: bool = False, to: str | None = None
    ) -> Page:
        """Return a page of the model's attention to a sentence; a notebook shows it in place.

        Args:
            text: what to translate.
            target: a translation to look at first, in place of the model's own.
            full: embed everything, however large.
            to: target language, of a model of several directions.

        Raises:
            UserError: an ensemble; no words; more of them than the model can take; see ``toward``.
        """
        undirected = self.directions is not None and self.asked is None
        directed = self.toward(to) if undirected or to is not None else self
        return make_page(explore(directed, text, target, full=full))


class LoadedWriter(Offering, TextGenerator):
    """A language model that writes whole texts at once; :meth:`write` writes them bit by bit."""

    def generate(self, prompt: str = "", *, number: int = 0, **search: object) -> str:
        """Return a prompt and what follows it.

        Args:
            prompt: what the text begins with.
            number: tells several texts of one prompt apart.
            search: keys of [search] that shall be other than in the run's recipe: max_tokens, temperature,
                top_k, top_p, seed, stop.

        Raises:
            UserError: a prompt that the model cannot take; an unknown key, or a value out of range.
        """
        return prompt + "".join(self.write(prompt, _changed(self.settings, search), number=number))

    def inspect(self, text: str, *, full: bool = False) -> Page:
        """Return a page of how a text's tokens look at each other, and of what would follow.

        Raises:
            UserError: no text; one that the model cannot take.
        """
        return _of_text(self, read_text(self, text), CAUSAL, full)


class LoadedFiller(Offering, MaskFiller):
    """A model that fills gaps, and shows what it attends to."""

    def inspect(self, text: str, *, full: bool = False) -> Page:
        """Return a page of how a text's tokens look at each other, and of what stands in its gaps, if any.

        Raises:
            UserError: no text; one that the model cannot take.
        """
        return _of_text(self, read_gaps(self, text), BOTH_WAYS, full)


class LoadedTexts(Offering, TextClassifier):
    """A classifier of texts that shows what it attends to."""

    def inspect(self, text: str, *, full: bool = False) -> Page:
        """Return a page of how a text's tokens look at each other, and of its class.

        Raises:
            UserError: no text.
        """
        return _of_text(self, read_class(self, text), BOTH_WAYS, full)


class LoadedPictures(Offering, PictureClassifier):
    """A classifier of pictures that answers all at once."""

    def classify(self, pictures: Sequence[str | Path], *, views: Views = 1) -> list[Guess]:
        """Return a guess for each picture file, in order; ``guess.name`` is the likeliest class.

        Args:
            pictures: their files.
            views: average what is found in so many views of each: 2, its mirror image too; 10, both also
                moved a little each way.

        Raises:
            UserError: a file is missing, damaged, or no picture.
        """
        return list(super().classify(pictures, views=views))

    def inspect(self, picture: str | Path, *, full: bool = False) -> Page:
        """Return a page of where the model looks in a picture's file.

        Raises:
            UserError: the file is missing, damaged, or no picture.
        """
        return make_page(explore_sight(see(self, Path(picture)), self.model, Asked(full=full)))


class LoadedArtist(Offering, ImageGenerator):
    """A model that draws, and shows which words it looks at while it does."""

    def draw(
        self,
        caption: str,
        count: int = 1,
        settings: DrawingSettings | None = None,
        *,
        complete: str | Path | None = None,
        **search: object,
    ) -> list[Drawing]:
        """Return pictures for a caption, the fittest first; each has its ``picture``.

        Args:
            caption: what they shall show.
            count: how many.
            settings: how to draw; None: as the run's recipe says.
            complete: a picture whose upper part, as much of it as there is, is kept; of a square one half.
            search: keys of [search] that shall be other than that (``guidance=2.0``).

        Raises:
            UserError: a caption with unknown words, or too long; a picture that cannot be read; an unknown
                key, or a value out of range.
        """
        chosen = _changed(settings or self.settings, search)
        return super().draw(caption, count, chosen, complete=None if complete is None else Path(complete))

    def inspect(self, caption: str, picture: str | Path | None = None, *, full: bool = False) -> Page:
        """Return a page of which words of a caption each place of its picture looks at.

        Args:
            caption: what to draw.
            picture: a file to look at in place of the drawn picture.
            full: embed everything, however large.

        Raises:
            UserError: a caption with unknown words, or too long; a picture that cannot be read.
        """
        painting = paint(self, caption, given=None if picture is None else Path(picture))
        return make_page(explore_painting(painting, Asked(full=full)))


def _changed(settings: AnySettings, given: dict[str, Any]) -> AnySettings:
    """Return settings with some keys changed. Raises ``UserError``: an unknown key, a value out of range."""
    fields = type(settings).model_fields
    try:
        return type(settings).model_validate({**dict(settings), **given})
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
    if key not in fields:
        raise UserError(f'there is no setting "{key}"', remedy=f"Known are {', '.join(fields)}.")
    raise UserError(f"{key} = {spelled(given[key])}, but it must be {in_words(fields[key])}")


def _of_text(
    loaded: LoadedWriter | LoadedFiller | LoadedTexts, reading: Reading, kind: Json, full: bool
) -> Page:
    return make_page(explore_reading(reading, loaded.model, loaded.tokenizer, kind, Asked(full=full)))
