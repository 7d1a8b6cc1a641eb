"""Image classifiers as ``multihead.load`` returns them, and the inspection of their attention."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from multihead.inspect.maps import Alignment
from multihead.inspect.maps.alignment import CAUTION, grid_alignment
from multihead.inspect.overlays import OverlayPanel, overlays
from multihead.inspect.page import HtmlPage, PageOptions, SequenceExploration, as_json, make_page
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.images.attention import inspect_image
from multihead.tasks.images.image_classifier import ImageClassifier, ImagePrediction, Views
from multihead.tasks.images.page import explore_image
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.loaded import ListsMethods

ROLLOUT = "Attention rollout (Abnar and Zuidema 2020)"


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


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is an image file."""
    where = hardware.pick_device(request.device)
    classifier = ImageClassifier(run.load_model(where), device=where)
    inspection = inspect_image(classifier, Path(request.input_alone("a classifier")))
    options = request.asked
    rows, columns = inspection.grid

    @cache
    def exploration() -> SequenceExploration:
        return explore_image(inspection, classifier.model, options)

    def alignment() -> Alignment:
        """Return the rollout as a matrix of the image's rows and columns, scaled to a maximum of 1."""
        rollout = inspection.rollout()[-1].reshape(rows, columns)
        return grid_alignment(
            rollout,
            f"Predicted class: {next(iter(inspection.predictions.probabilities))}. {ROLLOUT}, rows and "
            f"columns of the image's patches, scaled to a maximum of 1. {CAUTION}",
        )

    def draw(path: str | Path) -> None:
        layers = zip(inspection.maps(), inspection.rollout(), strict=True)
        panels = [
            [
                *(
                    OverlayPanel(f"{layer}.{head}", map_.reshape(rows, columns))
                    for head, map_ in enumerate(heads, 1)
                ),
                OverlayPanel(f"rollout to {layer}", rollout.reshape(rows, columns)),
            ]
            for layer, (heads, rollout) in enumerate(layers, start=1)
        ]
        panels[0].append(OverlayPanel("image", None))
        title = f"Attention of {inspection.readout}: layer.head, and {ROLLOUT[0].lower()}{ROLLOUT[1:]};\n"
        overlays(inspection.pixels_Chw, panels, f"{title}each panel has its own scale. {CAUTION}", path)

    on_page = frozenset({"layer", "head", "combine", "full"})
    # Image and terminal show the rollout, which has no single layer or head.
    return Inspection(
        lambda: make_page(exploration()),
        lambda: as_json(exploration().listed),
        draw,
        alignment,
        on_page,
        frozenset(),
        frozenset(),
    )
