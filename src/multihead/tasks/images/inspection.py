"""Inspection of a vision transformer's attention."""

from functools import cache
from pathlib import Path

from multihead.inspect.maps import Alignment, TokenLabel
from multihead.inspect.maps.alignment import CAUTION
from multihead.inspect.overlays import OverlayPanel, overlays
from multihead.inspect.page import SequenceExploration, as_json, make_page
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.images.attention import inspect_image
from multihead.tasks.images.image_classifier import ImageClassifier
from multihead.tasks.images.page import explore_image
from multihead.tasks.inspection import Inspection, InspectionRequest

ROLLOUT = "Attention rollout (Abnar and Zuidema 2020)"


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
        return Alignment(
            rollout / rollout.max(),
            tuple(TokenLabel(str(row + 1), row) for row in range(rows)),
            tuple(TokenLabel(str(column + 1), column) for column in range(columns)),
            f"Predicted class: {next(iter(inspection.predictions.probabilities))}. {ROLLOUT}, rows and "
            f"columns of the image's patches, scaled to a maximum of 1. {CAUTION}",
            rows="row",
            columns="column",
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
