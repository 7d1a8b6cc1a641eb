"""From a picture that was drawn to all that the page shows."""

from multihead.attention_maps import Choice
from multihead.attention_maps.alignment import CAUTION
from multihead.attention_maps.self_alignment import resolve
from multihead.inspect.drawing import Painting
from multihead.inspect.page import packing
from multihead.inspect.page.exploring import MOST_BYTES
from multihead.inspect.page.kinds import DRAWING
from multihead.inspect.page.listing import attention, sides_listed
from multihead.inspect.page.over_picture import numbers, shown
from multihead.inspect.page.packing import Json
from multihead.inspect.page.sequence import Asked, SequenceExploration, content_of

BEGINNING = Asked()


def explore_painting(painting: Painting, asked: Asked = BEGINNING) -> SequenceExploration:
    """Put together what the page shows of a drawn picture.

    Args:
        painting: the picture, recorded.
        asked: how to begin.

    Raises:
        UserError: no such layer or head.
    """
    choice = Choice(
        asked.choice.layer or painting.most_informative(), asked.choice.head, asked.choice.combine
    )
    layer, head = resolve(painting.records, painting.tokens, choice)
    start = {"kind": "self", "layer": layer, "head": head, "combine": choice.combine, "told": False}
    given = painting.fits is None
    fits = "this picture" if painting.fits is None else f"this picture, which fits it by {painting.fits:.2f}"
    content = content_of(
        painting.records,
        painting.caption,
        told=[("reads", painting.caption), ("is given" if given else "draws", fits)],
        tokens=painting.tokens,
        start={**start, "words": False, "specials": asked.specials},
        kinds=[DRAWING],
        asked=asked,
    )
    looks = painting.looks()
    kept = len(looks) if asked.full else max(1, min(len(looks), MOST_BYTES // (looks[0].size * 4 // 3)))
    if kept < len(looks):
        content["leftOut"].append(f"which words places look at in layers {kept + 1} to {len(looks)}")
        content["start"]["layer"] = min(layer, kept)
    content["picture"] = {
        **shown(painting.pixels_Chw, painting.grid),
        "words": [{"text": word.text, "special": word.special} for word in painting.words],
        "layers": [
            {
                "layer": number,
                "heads": len(look),
                "layout": painting.layouts[number - 1],
                "weights": packing.weights(look),
            }
            for number, look in enumerate(looks[:kept], start=1)
        ],
    }
    listed: Json = {
        "run": asked.name,
        "caution": CAUTION,
        "caption": painting.caption,
        "grid": list(painting.grid),
        "words": [word.text for word in painting.words],
        "looks": [
            {"layer": number, "layout": painting.layouts[number - 1], "heads": numbers(look)}
            for number, look in enumerate(looks, start=1)
        ],
        **sides_listed(painting.tokens),
        "attention": attention(painting.records),
    }
    return SequenceExploration(content, listed)
