"""Look at what a model attends to: text, picture, translation.

    multihead inspect runs/de-en "Ein Hund schläft." -o page.html
    multihead inspect runs/shakespeare "The king said that he"
    multihead inspect runs/reviews "정말 [MASK] 영화" -o page.html
    multihead inspect runs/digits eight.png -o page.html
    multihead inspect runs/shapes "a large green circle" -o map.svg

The page shows every layer and head, what goes in, and the numbers of one head;
of a translator the search too; of a vision transformer the class token's look
over the picture and attention rollout; of a model that draws, which word each
place looks at. It needs no network. Without a file a map is drawn in the
terminal: the darker the more attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from multihead.attention_maps import Choice
from multihead.cli import _console, _directions, _options
from multihead.cli._shades import shades
from multihead.errors import UserError
from multihead.inspect.page import Asked
from multihead.inspect.pictures import METADATA
from multihead.run import files
from multihead.workflows import tasks
from multihead.workflows.inspection import InspectionRequest

PAGES = (".html", ".htm")
"""Endings of names of pages."""


@dataclass(frozen=True)
class Options:
    """What can be said."""

    run: Annotated[_options.Name, tyro.conf.arg(metavar="RUN")] = None
    """Run folder."""
    what: Annotated[_options.Name, tyro.conf.arg(metavar="TEXT|PICTURE")] = None
    """What to read: a sentence, a text, a picture's file, a caption."""
    target: _options.Text = None
    """Look at this translation, or this picture for a caption, instead of the model's own."""
    output: Annotated[_options.File, tyro.conf.arg(aliases=["-o"])] = None
    """Page to write, .html, or picture to draw, .svg, .png or .pdf. [the terminal]"""
    json: _options.File = None
    """Write the page's numbers as JSON too."""
    png: _options.File = None
    """Draw the map as a picture too."""
    full: _options.Flag = False
    """Embed all in the page, however large: all tokens and hypotheses, the numbers of all heads."""
    layer: _options.Number = None
    """Layer, from 1; of a translator, of the decoder. [one that tells much]"""
    head: _options.Number = None
    """Head, from 1. [all together; of a text the sharpest]"""
    combine: Literal["mean", "max"] = "mean"
    """How several heads are put together."""
    words: _options.Flag = False
    """Merge pieces to words."""
    specials: _options.Flag = False
    """Show special symbols too."""
    to: _directions.To = None
    """Target language, of a translator of several directions."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.run is None or options.what is None:
        missing = "no run folder is named" if options.run is None else "there is nothing to look at"
        raise UserError(missing, remedy='multihead inspect RUN "SENTENCE"')
    _check_places(options)
    page = options.output if options.output and Path(options.output).suffix.lower() in PAGES else None
    pictures = [path for path in (options.output, options.png) if path and path != page]
    choice = Choice(options.layer, options.head, options.combine)
    asked = Asked(options.run, choice, options.words, options.specials, options.full)
    seen = tasks.inspect(
        options.run, InspectionRequest(options.what, options.target, options.device, asked, options.to)
    )
    if page:
        seen.page().save(page)
    if options.json:
        files.write_text(Path(options.json), seen.numbers())
    for path in pictures:
        seen.draw(path)
    if not options.output and not options.json and not pictures:
        alignment, console = seen.alignment(), _console.output()
        console.print(shades(alignment, console.width))
        console.print(alignment.caption, style="dim", soft_wrap=not console.is_terminal)
    return 0


def _check_places(options: Options) -> None:
    """Refuse, before anything is computed, names that do not say what to write, and where nothing can be."""
    for path, known in ((options.output, (*PAGES, *METADATA)), (options.png, (*METADATA,))):
        if path and Path(path).suffix.lower() not in known:
            remedy = f"End it with {', '.join(known[:-1])} or {known[-1]}."
            raise UserError("the name does not say which kind of file to write", place=path, remedy=remedy)
    for path in filter(None, (options.output, options.png, options.json)):
        files.check_file(path)
