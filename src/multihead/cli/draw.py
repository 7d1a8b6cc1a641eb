"""Generate images for a caption, or complete a partial image.

    multihead draw runs/shapes "a large green circle" -n 8 -o grid.png
    multihead draw runs/shapes "a large green circle" --complete half.png
    multihead draw runs/shapes --page page.html

The images are arranged in a grid, best match with the caption first.
--candidates N generates N images and keeps the best ones. The page shows
captions from training and held-out captions, each with the true image, its
reconstruction from codes, a generated image, and the nearest training image.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from PIL import Image

from multihead import recipe as recipes
from multihead.cli import _console, _options
from multihead.cli._effect import refuse_options
from multihead.errors import UserError
from multihead.run import Run, files
from multihead.tasks.drawing.gallery import gallery
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.translation.without_effect import refuse_keys

EDGE = 2
"""Pixels between the images of a grid."""
MIN_CAPTIONS = 8
"""Smallest number of captions of each kind on a page."""
VISIBLE = 128
"""Width to which small images are enlarged, in pixels."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides sampling settings."""

    run: _options.RunFolder
    """Run folder."""
    caption: Annotated[_options.Name, _options.Option(metavar="CAPTION")] = None
    """Prompt of the images."""
    number: Annotated[int, _options.Option(aliases=("-n",), metavar="N")] = 1
    """Number of images."""
    output: Annotated[str, _options.Option(aliases=("-o",), metavar="FILE")] = "drawing.png"
    """Image file to write."""
    complete: _options.File = None
    """Image to complete: its upper part is kept, the upper half of a square image."""
    page: _options.File = None
    """Write a page that compares generated images with the training data, with -n captions of each kind."""
    scale: Annotated[int, _options.Option(metavar="N")] = 0
    """Enlarge each pixel N times; 0 enlarges small images to a visible size."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(
        Options, arguments, sections=("search",), short="search", task="drawing"
    )
    if (options.caption is None) == (options.page is None):
        raise UserError("a caption or --page is needed", remedy='Usage: multihead draw RUN "..." -o grid.png')
    _options.at_least_one("number", options.number)
    if options.scale < 0:
        raise UserError(f"--scale {options.scale}", remedy="Give at least 0.")
    if options.page is not None:
        refuse_options(options, ("output", "complete", "scale"), "with --page")
    output = Path(options.output)
    _check_name(output)
    run = Run.open(options.run).fit_for("drawing")
    search = recipes.load(run.folder / "recipe.toml", given).search
    if search.temperature == 0:
        keys = ("search.top_k", "search.top_p", "search.seed")
        refuse_keys(given, keys, "at temperature 0, where the most probable code is taken")
    if options.page is None and search.candidates < options.number:
        refuse_keys(
            given, ("search.candidates",), f"unless it exceeds the number of images, {options.number}"
        )
    generator = ImageGenerator.load(options.run, device=options.device)
    if options.caption is None:
        captions = max(options.number, MIN_CAPTIONS)
        gallery(run, generator, search, captions).save(options.page or "")
        return 0
    images = generator.draw(
        options.caption,
        options.number,
        search,
        complete=Path(options.complete) if options.complete else None,
    )
    sheet = grid([drawing.image for drawing in images], options.scale)
    files.write(output, sheet.save)
    similarities = ", ".join(f"{drawing.fits:.2f}" for drawing in images)
    noun = "image" if len(images) == 1 else "images"
    _console.messages().print(
        f"{len(images)} {noun} in {output}; cosine similarity with the caption: {similarities}"
    )
    return 0


def _check_name(output: Path) -> None:
    """Refuse a file extension of a format in which colour images cannot be written."""
    kind = Image.registered_extensions().get(output.suffix.lower(), "")
    try:
        # Only a trial shows it: some of the listed formats are read-only, and some have no colours.
        Image.new("RGB", (VISIBLE, VISIBLE)).save(io.BytesIO(), kind)
    except (KeyError, ValueError, OSError):
        raise UserError(
            "the file extension is not that of a supported image format",
            place=str(output),
            remedy="Use .png, as in grid.png.",
        ) from None


def grid(images: Sequence[Image.Image], scale: int = 0) -> Image.Image:
    """Arrange images of the same size in a grid on a grey background."""
    width, height = images[0].size
    scale = scale or max(1, VISIBLE // width)
    width, height = width * scale, height * scale
    columns = math.ceil(math.sqrt(len(images)))
    rows = math.ceil(len(images) / columns)
    size = columns * (width + EDGE) + EDGE, rows * (height + EDGE) + EDGE
    sheet = Image.new("RGB", size, (128, 128, 128))
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        large = image.resize((width, height), Image.Resampling.NEAREST)
        sheet.paste(large, (EDGE + column * (width + EDGE), EDGE + row * (height + EDGE)))
    return sheet
