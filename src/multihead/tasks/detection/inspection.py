"""Inspection of an object detector: the attention of each object query to the image."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from multihead.errors import UserError
from multihead.inspect.maps import Alignment
from multihead.inspect.maps.alignment import CAUTION, grid_alignment
from multihead.inspect.page import HtmlPage
from multihead.inspect.report.markup import SafeHtml, tag
from multihead.inspect.report.parts import card, png_image, report
from multihead.inspect.report.words import say
from multihead.run import Run
from multihead.tasks.detection.attention import DetectionInspection, inspect_detection
from multihead.tasks.detection.detections import QueryMap, draw_boxes, draw_queries
from multihead.tasks.detection.detector import Detector
from multihead.tasks.inspection import Inspection, InspectionRequest

DESCRIPTION = "{} {}, edges {} (query {})"
THRESHOLD = 0.5
"""Minimum score of the objects on the page."""


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is an image file."""
    detector = Detector.load(run.folder, request.device)
    seen = inspect_detection(detector, Path(request.input_alone("a detector")))
    choice = request.asked.choice
    maps = seen.maps(THRESHOLD, choice.layer, choice.head, largest=choice.combine == "max")
    layers, heads = seen.weights_LHQrc.shape[:2]
    layer = choice.layer or layers
    reduction = f"head {choice.head}" if choice.head else f"the {choice.combine} of {heads} heads"
    caption = (
        f"Attention of each object query to the image, decoder layer {layer} of {layers}, {reduction};\n"
        f"each panel has its own scale. {CAUTION}"
    )

    def draw(path: str | Path) -> None:
        draw_queries(seen.image, maps, detector.names, caption, path)

    used = frozenset({"layer", "head", "combine"})
    return Inspection(
        lambda: page_of(seen, detector.names, request.asked.name),
        lambda: as_json(seen, request.asked.name),
        draw,
        lambda: _alignment(seen, maps, caption),
        frozenset(),
        used,
        used,
    )


def page_of(seen: DetectionInspection, names: tuple[str, ...], run: str) -> HtmlPage:
    """Return a page: the objects found, and the attention of their queries in each decoder layer."""
    layers, heads = seen.weights_LHQrc.shape[:2]
    maps = seen.maps(THRESHOLD)
    items = [tag("li", say(DESCRIPTION, *_facts(query_map))) for query_map in maps]
    lead = say("The mean of {} heads; each panel has its own scale.", heads)
    main = [
        tag("h1", seen.name),
        tag("p", run, class_="sub"),
        card(
            say("{} objects with a score of at least {}", len(maps), f"{THRESHOLD:g}"),
            _boxes(seen, maps, names),
            tag("ul", items or tag("li", say("no object"))),
        ),
        [
            card(say("Decoder layer {}", layer), _draw(seen, names, layer), lead=lead)
            for layer in range(1, layers + 1)
        ],
    ]
    return report(seen.name, say("detection"), main, tag("p", say(CAUTION)))


def _boxes(seen: DetectionInspection, maps: list[QueryMap], names: tuple[str, ...]) -> SafeHtml:
    """Return the image with the boxes of its objects."""
    objects = [query_map.detection for query_map in maps]
    return _png(lambda path: draw_boxes(seen.image, objects, names, path), say("the objects and their boxes"))


def _draw(seen: DetectionInspection, names: tuple[str, ...], layer: int) -> SafeHtml:
    """Return a panel for each object: the attention of its query in a layer."""
    maps = seen.maps(THRESHOLD, layer)
    return _png(
        lambda path: draw_queries(seen.image, maps, names, "", path),
        say("attention of the queries in layer {}", layer),
    )


def _png(draw: Callable[[Path], None], alternative: str) -> SafeHtml:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.png"
        draw(path)
        return png_image(path.read_bytes(), alternative, "wide")


def as_json(seen: DetectionInspection, run: str) -> str:
    """Return the objects, and the attention of their queries in every layer and head, as JSON."""
    objects = [
        {
            "query": query_map.query + 1,
            "class": query_map.detection.name,
            "score": round(query_map.detection.score, 4),
            "box": [round(edge, 2) for edge in query_map.detection.box],
            "attention": np.round(seen.weights_LHQrc[:, :, query_map.query], 5).tolist(),
        }
        for query_map in seen.maps(THRESHOLD)
    ]
    content = {"run": run, "caution": CAUTION, "image": seen.name, "objects": objects}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _facts(query_map: QueryMap) -> tuple[str, str, str, int]:
    """Return class, score, edges of the box, and number of the query."""
    detection = query_map.detection
    edges = " ".join(f"{edge:.0f}" for edge in detection.box)
    return detection.name, f"{detection.score:.2f}", edges, query_map.query + 1


def _alignment(seen: DetectionInspection, maps: list[QueryMap], caption: str) -> Alignment:
    """Return the attention of the best query as a matrix of the image's rows and columns."""
    if not maps:
        fact = f"no object with a score of at least {THRESHOLD:g}"
        remedy = "Write a page with -o page.html, or give another image."
        raise UserError(fact, place=seen.name, remedy=remedy)
    return grid_alignment(
        maps[0].weights_rc,
        f"{DESCRIPTION.format(*_facts(maps[0]))}; rows and columns of the feature map, scaled to a maximum "
        f"of 1. {caption}",
    )
