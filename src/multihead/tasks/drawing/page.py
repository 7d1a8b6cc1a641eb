"""Page content for an image generated from a caption."""

from multihead.inspect.maps import AlignmentHead
from multihead.inspect.maps.alignment import CAUTION
from multihead.inspect.maps.self_alignment import resolve
from multihead.inspect.page import packing
from multihead.inspect.page.flow import flow
from multihead.inspect.page.json_export import attention_as_json, tokens_as_json
from multihead.inspect.page.kinds import DRAWING
from multihead.inspect.page.limits import MAX_BYTES
from multihead.inspect.page.packing import Json
from multihead.inspect.page.sequence import PageOptions, SequenceExploration, sequence_content
from multihead.inspect.phrases import phrase
from multihead.tasks.drawing.attention import DrawingInspection
from multihead.tasks.images.page import as_list, image

DEFAULTS = PageOptions()


def explore_drawing(inspection: DrawingInspection, options: PageOptions = DEFAULTS) -> SequenceExploration:
    """Return the page content of a generated or given image.

    Args:
        inspection: the image with its recorded attention.
        options: initial view and size limits of the page.

    Raises:
        UserError: no such layer or head.
    """
    choice = AlignmentHead(
        options.choice.layer or inspection.most_informative(), options.choice.head, options.choice.combine
    )
    layer, head = resolve(inspection.records, inspection.tokens, choice)
    start = {"kind": "self", "layer": layer, "head": head, "combine": choice.combine, "automatic": False}
    similarity = inspection.similarity
    origin = (
        phrase("given")
        if similarity is None
        else phrase("generated, cosine with the caption {}", f"{similarity:.2f}")
    )
    content = sequence_content(
        inspection.records,
        inspection.caption,
        heading=[("caption", inspection.caption), ("image", origin)],
        tokens=inspection.tokens,
        start={**start, "words": False, "specials": options.specials},
        kinds=[DRAWING],
        options=options,
        flow=flow(inspection.decoder, inspection.run, inspection.records),
    )
    layers = inspection.word_weights()
    limit = len(layers) if options.full else max(1, min(len(layers), MAX_BYTES // (layers[0].size * 4 // 3)))
    if limit < len(layers):
        content["omitted"].append(
            phrase("attention to the caption in layers {} to {}", limit + 1, len(layers))
        )
        content["start"]["layer"] = min(layer, limit)
    content["image"] = {
        **image(inspection.pixels_Chw, inspection.grid),
        "words": [{"text": word.text, "special": word.special} for word in inspection.words],
        "layers": [
            {
                "layer": number,
                "heads": len(weights),
                "layout": inspection.layouts[number - 1],
                "weights": packing.weights(weights),
            }
            for number, weights in enumerate(layers[:limit], start=1)
        ],
    }
    listed: Json = {
        "run": options.name,
        "caution": CAUTION,
        "caption": inspection.caption,
        "grid": list(inspection.grid),
        "words": [word.text for word in inspection.words],
        "looks": [
            {"layer": number, "layout": inspection.layouts[number - 1], "heads": as_list(weights)}
            for number, weights in enumerate(layers, start=1)
        ],
        **tokens_as_json(inspection.tokens),
        "attention": attention_as_json(inspection.records),
    }
    return SequenceExploration(content, listed)
