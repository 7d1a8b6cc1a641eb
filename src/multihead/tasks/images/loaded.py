"""Image classifiers as ``multihead.load`` returns them."""

from collections.abc import Sequence
from pathlib import Path

from multihead.inspect.page import HtmlPage, PageOptions, make_page
from multihead.tasks.images.attention import inspect_image
from multihead.tasks.images.image_classifier import ImageClassifier, ImagePrediction, Views
from multihead.tasks.images.page import explore_image
from multihead.tasks.loaded import ListsMethods


class LoadedImageClassifier(ListsMethods, ImageClassifier):
    """Image classifier that returns its predictions as a list, with inspection of its attention."""

    def classify(self, images: Sequence[str | Path], *, views: Views = 1) -> list[ImagePrediction]:
        """Return a prediction per image file, in order; its ``name`` is the most probable class.

        Args:
            images: image files.
            views: number of views to average the probabilities over: 2 adds the mirror image, 10 also
                shifts both by a few pixels in each direction.

        Raises:
            UserError: a file is missing, damaged or not an image.
        """
        return list(super().classify(images, views=views))

    def inspect(self, image: str | Path, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over an image file.

        Raises:
            UserError: the file is missing, damaged or not an image.
        """
        inspection = inspect_image(self, Path(image))
        return make_page(explore_image(inspection, self.model, PageOptions(full=full)))
