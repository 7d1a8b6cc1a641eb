"""Image classifiers as ``multihead.load`` returns them."""

from collections.abc import Sequence
from pathlib import Path

from multihead.inspect.page import HtmlPage, PageOptions, make_page
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.pictures.attention import inspect_image
from multihead.tasks.pictures.page import explore_image
from multihead.tasks.pictures.picture_classifier import PictureClassifier, PicturePrediction, Views


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
