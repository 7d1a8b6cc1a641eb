"""Draw pictures for a caption, or finish one that was begun.

    multihead draw runs/shapes "a large green circle" -n 8 -o grid.png
    multihead draw runs/shapes "a large green circle" --complete half.png
    multihead draw runs/shapes --page page.html

The pictures stand in a grid, the one that fits its caption best first. With
--candidates more are drawn than wanted, and the fittest are kept. The page
shows captions seen in training and others: the true picture, the same through
its codes, a drawn one, and the training picture that is nearest to that.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from PIL import Image

from multihead import recipe as recipes
from multihead.cli import _console, _options
from multihead.errors import UserError
from multihead.generation.image_generator import ImageGenerator
from multihead.run import Run, files
from multihead.workflows.gallery import gallery

EDGE = 2
"""Pixels between two pictures of a grid."""
LEAST = 8
"""Captions of each kind on a page."""
VISIBLE = 128
"""Width to which small pictures are enlarged."""


@dataclass(frozen=True)
class Options:
    """What can be said besides how to draw."""

    run: Annotated[_options.Name, tyro.conf.arg(metavar="RUN")] = None
    """Run folder."""
    caption: Annotated[_options.Name, tyro.conf.arg(metavar="CAPTION")] = None
    """What the pictures shall show."""
    number: Annotated[int, tyro.conf.arg(aliases=["-n"], metavar="N")] = 1
    """How many pictures."""
    output: Annotated[str, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = "drawing.png"
    """Picture file to write."""
    complete: _options.File = None
    """A picture to finish: as much of its upper part as there is is kept, of a square one half."""
    page: _options.File = None
    """Write a page of what the model draws beside what it was trained on; -n captions of each kind."""
    scale: int = 0
    """Enlarge each pixel so many times; 0: until a picture can be seen."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(
        Options, arguments, sections=("search",), short="search", task="drawing"
    )
    if options.run is None or (options.caption is None) == (options.page is None):
        raise UserError(
            "a run folder and a caption are needed", remedy='multihead draw RUN "..." -o grid.png'
        )
    if options.number < 1:
        raise UserError(f"{options.number} pictures", place="--number", remedy="Ask for at least one.")
    if options.scale < 0:
        raise UserError(f"{options.scale} times as large", place="--scale", remedy="Give 1 or more, or 0.")
    output = Path(options.output)
    _check_name(output)
    run = Run.open(options.run).fit_for("drawing")
    search = recipes.load(run.folder / "recipe.toml", given).search
    artist = ImageGenerator.load(options.run, device=options.device)
    if options.caption is None:
        files.write_text(Path(options.page or ""), gallery(run, artist, search, max(options.number, LEAST)))
        return 0
    drawn = artist.draw(
        options.caption,
        options.number,
        search,
        complete=Path(options.complete) if options.complete else None,
    )
    sheet = grid([drawing.picture for drawing in drawn], options.scale)
    files.write(output, sheet.save)
    fits = ", ".join(f"{drawing.fits:.2f}" for drawing in drawn)
    _console.messages().print(f"{len(drawn)} in {output}; how well they fit: {fits}")
    return 0


def _check_name(output: Path) -> None:
    """Refuse a name whose ending stands for no kind of file that a picture in colour can be written to."""
    kind = Image.registered_extensions().get(output.suffix.lower(), "")
    try:
        # Tried out: of the kinds that the library lists some can only be read, and some have no colours.
        Image.new("RGB", (VISIBLE, VISIBLE)).save(io.BytesIO(), kind)
    except (KeyError, ValueError, OSError):
        raise UserError(
            "not a name of a picture file that can be written", place=str(output), remedy="Call it grid.png."
        ) from None


def grid(pictures: Sequence[Image.Image], scale: int = 0) -> Image.Image:
    """Return pictures of one size beside and below each other, on grey."""
    width, height = pictures[0].size
    scale = scale or max(1, VISIBLE // width)
    width, height = width * scale, height * scale
    columns = math.ceil(math.sqrt(len(pictures)))
    rows = math.ceil(len(pictures) / columns)
    size = columns * (width + EDGE) + EDGE, rows * (height + EDGE) + EDGE
    sheet = Image.new("RGB", size, (128, 128, 128))
    for number, picture in enumerate(pictures):
        row, column = divmod(number, columns)
        large = picture.resize((width, height), Image.Resampling.NEAREST)
        sheet.paste(large, (EDGE + column * (width + EDGE), EDGE + row * (height + EDGE)))
    return sheet
