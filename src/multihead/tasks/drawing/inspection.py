"""Inspection of a text-to-image model's attention."""

from functools import cache
from pathlib import Path

import numpy as np

from multihead.inspect.maps import Alignment, AlignmentHead, TokenLabel
from multihead.inspect.maps.alignment import CAUTION, combine
from multihead.inspect.maps.self_alignment import resolve
from multihead.inspect.overlays import OverlayPanel, overlays
from multihead.inspect.page import HtmlPage, SequenceExploration, as_json, make_page
from multihead.run import Run
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.inspection import Inspection, InspectionRequest


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a caption, the target (if any) a picture file."""
    generator, asked = ImageGenerator.load(run.folder, device=request.device), request.asked
    painting = inspect_drawing(
        generator, request.input, given=Path(request.target) if request.target else None
    )
    (rows, columns), spoken = painting.grid, painting.caption_indices

    @cache
    def explored() -> SequenceExploration:
        return explore_drawing(painting, asked)

    def page() -> HtmlPage:
        return make_page(explored())

    def numbers() -> str:
        return as_json(explored().listed)

    def alignment() -> Alignment:
        """Return the attention of the picture's rows to the caption's words, in one layer."""
        choice = AlignmentHead(
            asked.choice.layer or painting.most_informative(), asked.choice.head, asked.choice.combine
        )
        layer, head = resolve(painting.records, painting.tokens, choice)
        weights_nC = combine(painting.word_weights()[layer - 1][:, :, spoken], choice)
        weights_rC = weights_nC.reshape(rows, columns, len(spoken)).mean(axis=1)
        which = f"head {head}" if head else f"{choice.combine} of {painting.records[0].num_heads} heads"
        return Alignment(
            weights_rC / weights_rC.sum(axis=1, keepdims=True),
            tuple(TokenLabel(f"row {row + 1}", row) for row in range(rows)),
            tuple(painting.words[place] for place in spoken),
            f"Attention of the picture's rows to the words of the caption, layer {layer} of "
            f"{len(painting.records)}, {which}. {CAUTION}",
            rows="row of the picture",
            columns="word",
        )

    def draw(path: str | Path) -> None:
        every = [
            [
                OverlayPanel(
                    f"{layer}: {painting.words[place].text}", _mean(weights, place).reshape(rows, columns)
                )
                for place in spoken
            ]
            for layer, weights in enumerate(painting.word_weights(), start=1)
        ]
        every[0].append(OverlayPanel("picture", None))
        title = "Attention of the picture's positions to each word, by layer, mean of the heads;\n"
        overlays(painting.pixels_Chw, every, f"{title}each panel has its own scale. {CAUTION}", path)

    choice = frozenset({"layer", "head", "combine"})
    # The picture shows all layers, and the mean of their heads.
    return Inspection(page, numbers, draw, alignment, choice | {"specials", "full"}, frozenset(), choice)


def _mean(weights_HnC: np.ndarray, word: int) -> np.ndarray:
    mean_n: np.ndarray = weights_HnC[:, :, word].mean(axis=0)
    return mean_n
