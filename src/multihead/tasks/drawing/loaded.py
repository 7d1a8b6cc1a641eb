"""Text-to-image models as ``multihead.load`` returns them, and the inspection of their attention."""

from functools import cache
from pathlib import Path

from multihead.inspect.maps import Alignment, AlignmentHead, TokenLabel
from multihead.inspect.maps.alignment import CAUTION, combine
from multihead.inspect.maps.self_alignment import resolve
from multihead.inspect.overlays import OverlayPanel, overlays
from multihead.inspect.page import HtmlPage, PageOptions, SequenceExploration, as_json, make_page
from multihead.run import Run
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.image_generator import Drawing, ImageGenerator
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.drawing.settings import SearchSettings
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.loaded import ListsMethods, change_settings


class LoadedImageGenerator(ListsMethods, ImageGenerator):
    """Text-to-image model, with inspection of its attention to the caption."""

    def draw(
        self,
        caption: str,
        count: int = 1,
        settings: SearchSettings | None = None,
        *,
        complete: str | Path | None = None,
        **search: object,
    ) -> list[Drawing]:
        """Generate images for a caption, best match first; each has its ``image``.

        Args:
            caption: the prompt.
            count: number of images.
            settings: sampling settings; None: the settings of the run's recipe.
            complete: an image to complete: its upper part is kept, half of a square image.
            search: keys of [search] to override (``guidance=2.0``).

        Raises:
            UserError: a caption with unknown words or too long for the model, an image that cannot be read,
                an unknown key, or a value out of range.
        """
        settings = change_settings(settings or self.settings, search)
        return super().draw(caption, count, settings, complete=None if complete is None else Path(complete))

    def inspect(self, caption: str, image: str | Path | None = None, *, full: bool = False) -> HtmlPage:
        """Return a page of the attention from image positions to the words of the caption.

        Args:
            caption: the prompt.
            image: an image file to use in place of a generated image.
            full: embed everything, regardless of size.

        Raises:
            UserError: a caption with unknown words or too long for the model, or an unreadable image.
        """
        inspection = inspect_drawing(self, caption, given=None if image is None else Path(image))
        return make_page(explore_drawing(inspection, PageOptions(full=full)))


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
