"""Page content for an image classified by a vision transformer."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image
from torch import nn

from multihead.data.images.opening import Pixels, as_image
from multihead.inspect.maps.alignment import CAUTION
from multihead.inspect.page import inputs, packing
from multihead.inspect.page.flow import flow
from multihead.inspect.page.json_export import attention_as_json
from multihead.inspect.page.kinds import PATCHES
from multihead.inspect.page.packing import Floats, Json
from multihead.inspect.page.sequence import (
    PageOptions,
    SequenceExploration,
    packed_predictions,
    sequence_content,
    start,
    top_three,
)
from multihead.tasks.images.attention import ImageInspection

DEFAULTS = PageOptions()
THUMBNAIL = 96
"""Largest width and height of a thumbnail in pixels."""


def explore_image(
    inspection: ImageInspection, model: nn.Module, options: PageOptions = DEFAULTS
) -> SequenceExploration:
    """Return the page content of a classified image.

    Args:
        inspection: the image with its recorded attention.
        model: the classifier.
        options: initial view and size limits; the page opens with the rollout unless a layer or head is set.

    Raises:
        UserError: no such layer or head.
    """
    overlay = "rollout" if options.choice.layer is None and options.choice.head is None else "head"
    state = start(inspection.records, inspection.tokens, options)
    predictions = inspection.predictions
    content = sequence_content(
        inspection.records,
        inspection.name,
        heading=[("image", inspection.name), (predictions.target, top_three(predictions))],
        tokens=inspection.tokens,
        start={**state, "words": False, "specials": True, "overlay": overlay},
        kinds=[PATCHES],
        options=options,
        flow=flow(model, inspection.run, inspection.records),
        distances_NN=patch_distances(inspection.grid, inspection.before),
    )
    maps, rollout = inspection.maps(), inspection.rollout()
    content |= {
        "predictions": [packed_predictions(predictions)],
        "image": {
            **image(inspection.pixels_Chw, inspection.grid),
            "readout": inspection.readout,
            "first": inspection.before,
            "maps": [packing.floats(map_HP) for map_HP in maps],
            "rollout": [packing.floats(weights_P) for weights_P in rollout],
            "near": inputs.position_similarities(model),
        },
    }
    listed = {
        "run": options.name,
        "caution": CAUTION,
        "image": inspection.name,
        "grid": list(inspection.grid),
        "looks": inspection.readout,
        "guesses": dict(predictions.probabilities),
        "maps": [{"layer": number, "heads": as_list(map_HP)} for number, map_HP in enumerate(maps, start=1)],
        "rollout": [as_list(weights_P) for weights_P in rollout],
        "attention": attention_as_json(inspection.records),
    }
    return SequenceExploration(content, listed)


def patch_distances(grid: tuple[int, int], before: int) -> Floats:
    """Return the distances between patches in patches, (N, N).

    Args:
        grid: (rows, columns) of patches.
        before: number of tokens before the patches; their distance to every token is 0.
    """
    rows_P, columns_P = (axis.flatten() for axis in np.indices(grid))
    distances_PP = np.hypot(rows_P[:, None] - rows_P, columns_P[:, None] - columns_P)
    return np.pad(distances_PP, (before, 0)).astype(np.float32)


def image(pixels_Chw: Pixels, grid: Sequence[int]) -> Json:
    """Return an image, its thumbnail (both as data URLs) and its grid."""
    full = as_image(pixels_Chw)
    thumbnail = full.copy()
    thumbnail.thumbnail((THUMBNAIL, THUMBNAIL))
    return {"src": _data_url(full), "small": _data_url(thumbnail), "rows": grid[0], "columns": grid[1]}


def _data_url(image: Image.Image) -> str:
    content = io.BytesIO()
    image.save(content, "PNG")
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode('ascii')}"


def as_list(values: Floats) -> list[float]:
    """Return weights as a list of numbers rounded to six decimals."""
    numbers: list[float] = np.round(values.astype(np.float64), 6).tolist()
    return numbers
