"""From a picture that was seen to all that the page shows."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image
from torch import nn

from multihead.attention_maps.alignment import CAUTION
from multihead.attention_maps.self_alignment import resolve
from multihead.data.pictures.opening import Pixels, as_picture
from multihead.inspect.image_inspection import Sight
from multihead.inspect.page import inputs, packing
from multihead.inspect.page.kinds import PATCHES
from multihead.inspect.page.listing import attention
from multihead.inspect.page.packing import Floats, Json
from multihead.inspect.page.sequence import Asked, SequenceExploration, content_of, in_short, listed_guesses

BEGINNING = Asked()
SMALL = 96
"""Pixels that a small picture is wide at most."""


def explore_sight(sight: Sight, model: nn.Module, asked: Asked = BEGINNING) -> SequenceExploration:
    """Put together what the page shows of a picture.

    Args:
        sight: the picture, recorded.
        model: that saw it.
        asked: how to begin; where it names a layer or head, the page opens with that, not with the rollout.

    Raises:
        UserError: no such layer or head.
    """
    layer, head = resolve(sight.records, sight.tokens, asked.choice)
    named = asked.choice.layer is not None or asked.choice.head is not None
    start = {"kind": "self", "layer": layer, "head": head, "combine": asked.choice.combine, "told": False}
    content = content_of(
        sight.records,
        sight.name,
        told=[("sees", sight.name), (sight.guesses.question, in_short(sight.guesses))],
        tokens=sight.tokens,
        start={**start, "words": False, "specials": True, "look": "head" if named else "rollout"},
        kinds=[PATCHES],
        asked=asked,
        apart_NN=apart(sight.grid, int(sight.class_token)),
    )
    maps, through = sight.maps(), sight.rollout()
    content |= {
        "guesses": [listed_guesses(sight.guesses)],
        "picture": {
            **shown(sight.pixels_Chw, sight.grid),
            "asker": sight.asker,
            "first": int(sight.class_token),
            "maps": [packing.floats(one) for one in maps],
            "rollout": [packing.floats(one) for one in through],
            "near": inputs.near_patches(model),
        },
    }
    listed = {
        "run": asked.name,
        "caution": CAUTION,
        "picture": sight.name,
        "grid": list(sight.grid),
        "looks": sight.asker,
        "guesses": dict(sight.guesses.answers),
        "maps": [{"layer": number, "heads": numbers(one)} for number, one in enumerate(maps, start=1)],
        "rollout": [numbers(one) for one in through],
        "attention": attention(sight.records),
    }
    return SequenceExploration(content, listed)


def apart(grid: tuple[int, int], before: int) -> Floats:
    """How far patches lie from each other, in patches (N, N); 0 to and from what stands before them."""
    rows_P, columns_P = (place.flatten() for place in np.indices(grid))
    apart_PP = np.hypot(rows_P[:, None] - rows_P, columns_P[:, None] - columns_P)
    return np.pad(apart_PP, (before, 0)).astype(np.float32)


def shown(pixels_Chw: Pixels, grid: Sequence[int]) -> Json:
    """Return a picture as the page reads it, and a smaller one of a large one, which is drawn many times."""
    picture = as_picture(pixels_Chw)
    small = picture.copy()
    small.thumbnail((SMALL, SMALL))
    return {"src": _address(picture), "small": _address(small), "rows": grid[0], "columns": grid[1]}


def _address(picture: Image.Image) -> str:
    stored = io.BytesIO()
    picture.save(stored, "PNG")
    return f"data:image/png;base64,{base64.b64encode(stored.getvalue()).decode('ascii')}"


def numbers(values: Floats) -> list[float]:
    """Return weights as numbers with six digits after the point."""
    found: list[float] = np.round(values.astype(np.float64), 6).tolist()
    return found
