"""Inspection of a text-to-image model's attention."""

from functools import cache
from pathlib import Path

from multihead.inspect.maps import Alignment, AlignmentHead, TokenLabel
from multihead.inspect.maps.alignment import CAUTION, combine
from multihead.inspect.maps.self_alignment import resolve
from multihead.inspect.overlays import OverlayPanel, overlays
from multihead.inspect.page import SequenceExploration, as_json, make_page
from multihead.run import Run
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.inspection import Inspection, InspectionRequest


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a caption, the target (if any) an image file."""
    generator, options = ImageGenerator.load(run.folder, device=request.device), request.asked
    image = Path(request.target) if request.target else None
    drawing = inspect_drawing(generator, request.input, given=image)
    (rows, columns), words = drawing.grid, drawing.caption_indices

    @cache
    def exploration() -> SequenceExploration:
        return explore_drawing(drawing, options)

    def alignment() -> Alignment:
        """Return the attention of the image's rows to the caption's words, in one layer."""
        choice = AlignmentHead(
            options.choice.layer or drawing.most_informative(), options.choice.head, options.choice.combine
        )
        layer, head = resolve(drawing.records, drawing.tokens, choice)
        weights_nC = combine(drawing.word_weights()[layer - 1][:, :, words], choice)
        weights_rC = weights_nC.reshape(rows, columns, len(words)).mean(axis=1)
        reduction = f"head {head}" if head else f"{choice.combine} of {drawing.records[0].num_heads} heads"
        return Alignment(
            weights_rC / weights_rC.sum(axis=1, keepdims=True),
            tuple(TokenLabel(f"row {row + 1}", row) for row in range(rows)),
            tuple(drawing.words[place] for place in words),
            f"Attention of the image's rows to the words of the caption, layer {layer} of "
            f"{len(drawing.records)}, {reduction}. {CAUTION}",
            rows="row of the image",
            columns="word",
        )

    def draw(path: str | Path) -> None:
        panels = [
            [
                OverlayPanel(
                    f"{layer}: {drawing.words[place].text}",
                    weights_HnC[:, :, place].mean(axis=0).reshape(rows, columns),
                )
                for place in words
            ]
            for layer, weights_HnC in enumerate(drawing.word_weights(), start=1)
        ]
        panels[0].append(OverlayPanel("image", None))
        title = "Attention of the image's positions to each word, by layer, mean of the heads;\n"
        overlays(drawing.pixels_Chw, panels, f"{title}each panel has its own scale. {CAUTION}", path)

    choice = frozenset({"layer", "head", "combine"})
    # The image shows all layers, and the mean of their heads.
    return Inspection(
        lambda: make_page(exploration()),
        lambda: as_json(exploration().listed),
        draw,
        alignment,
        choice | {"specials", "full"},
        frozenset(),
        choice,
    )
