"""Text-to-image models as ``multihead.load`` returns them."""

from pathlib import Path

from multihead.inspect.page import HtmlPage, PageOptions, make_page
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.image_generator import Drawing, ImageGenerator
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.drawing.settings import SearchSettings
from multihead.tasks.loaded import ListsMethods, change_settings


class LoadedImageGenerator(ListsMethods, ImageGenerator):
    """Text-to-image model, with inspection of its attention to the caption."""

    def draw(
        self,
        caption: str,
        count: int = 1,
        settings: SearchSettings | None = None,
        *,
        complete: str | Path | None = None,
        **search: object,
    ) -> list[Drawing]:
        """Generate images for a caption, best match first; each has its ``image``.

        Args:
            caption: the prompt.
            count: number of images.
            settings: sampling settings; None: the settings of the run's recipe.
            complete: an image to complete: its upper part is kept, half of a square image.
            search: keys of [search] to override (``guidance=2.0``).

        Raises:
            UserError: a caption with unknown words or too long for the model, an image that cannot be read,
                an unknown key, or a value out of range.
        """
        settings = change_settings(settings or self.settings, search)
        return super().draw(caption, count, settings, complete=None if complete is None else Path(complete))

    def inspect(self, caption: str, image: str | Path | None = None, *, full: bool = False) -> HtmlPage:
        """Return a page of the attention from image positions to the words of the caption.

        Args:
            caption: the prompt.
            image: an image file to use in place of a generated image.
            full: embed everything, regardless of size.

        Raises:
            UserError: a caption with unknown words or too long for the model, or an unreadable image.
        """
        inspection = inspect_drawing(self, caption, given=None if image is None else Path(image))
        return make_page(explore_drawing(inspection, PageOptions(full=full)))
