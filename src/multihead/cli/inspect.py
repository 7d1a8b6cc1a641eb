"""Show a model's attention for a sentence, text, image or caption.

    multihead inspect runs/de-en "Ein Hund schläft." -o page.html
    multihead inspect runs/shakespeare "The king said that he"
    multihead inspect runs/reviews "정말 [MASK] 영화" -o page.html
    multihead inspect runs/digits eight.png -o page.html
    multihead inspect runs/shapes "a large green circle" -o map.svg
    multihead inspect runs/de-en --live -o live.html

The page works offline. It shows every layer and head, the embeddings, and the
computation of one head step by step. For a translator it also shows the beam
search, for a vision transformer the attention of the class token and attention
rollout over the image, and for a text-to-image model the attention of each
image position to the caption. With --live the page contains the translator
itself, which translates while one types. Without an output file a heat map is
printed in the terminal; darker means more attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from multihead.cli import _console, _directions, _options, _page
from multihead.cli._effect import refuse_options
from multihead.cli._shades import shades
from multihead.errors import UserError
from multihead.inspect.figures import METADATA
from multihead.inspect.maps import AlignmentHead
from multihead.inspect.page import PageOptions
from multihead.run import files
from multihead.tasks import base
from multihead.tasks.inspection import EVERY_CHOICE, Inspection, InspectionRequest

PAGES = (".html", ".htm")
"""File extensions of pages."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder."""
    what: Annotated[_options.Name, _options.Option(metavar="TEXT|IMAGE")] = None
    """Input of the model: a sentence, a text, two texts (a tab between them), an image file or a caption."""
    target: _options.Text = None
    """Use this translation, or this image for a caption, instead of the model's own output."""
    output: Annotated[_options.File, _options.Option(aliases=("-o",))] = None
    """Output file: a page (.html) or a heat map (.svg, .png or .pdf). (default: the terminal)"""
    json: _options.File = None
    """Also write the numbers of the page to this file, as JSON."""
    png: _options.File = None
    """Also write the heat map to this file."""
    full: _options.Flag = False
    """Embed everything, whatever the size: all tokens, all hypotheses, the numbers of all heads."""
    live: _options.Flag = False
    """A page with the model itself, in float32, whose attention is drawn while one types."""
    layer: _options.Number = None
    """Layer, from 1; for a translator, of the decoder. (default: the most informative)"""
    head: _options.Number = None
    """Head, from 1. (default: all heads combined; for a text, the head with the lowest entropy)"""
    combine: Literal["mean", "max"] = "mean"
    """Reduction over heads."""
    words: _options.Flag = False
    """Merge subwords into words."""
    specials: _options.Flag = False
    """Show special symbols."""
    to: _directions.To = None
    """Target language, for a translator of several directions."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.live:
        idle = ("target", "json", "png", "full", "to", *EVERY_CHOICE)
        refuse_options(options, idle, "on a live page, which shows every head")
        return _page.export(options.run, options.output, None, exact=True, text=options.what)
    if options.what is None:
        raise UserError("no input was given", remedy='Usage: multihead inspect RUN "SENTENCE"')
    _check_paths(options)
    page = options.output if options.output and Path(options.output).suffix.lower() in PAGES else None
    figures = [path for path in (options.output, options.png) if path and path != page]
    choice = AlignmentHead(options.layer, options.head, options.combine)
    view = PageOptions(options.run, choice, options.words, options.specials, options.full)
    inspection = base.inspect(
        options.run, InspectionRequest(options.what, options.target, options.device, view, options.to)
    )
    _refuse_without_effect(options, inspection, page=bool(page or options.json), figure=bool(figures))
    if page:
        inspection.page().save(page)
    if options.json:
        files.write_text(Path(options.json), inspection.numbers())
    for path in figures:
        inspection.draw(path)
    if not options.output and not options.json and not figures:
        alignment, console = inspection.alignment(), _console.output()
        console.print(shades(alignment, console.width))
        console.print(alignment.caption, style="dim", soft_wrap=not console.is_terminal)
    return 0


def _refuse_without_effect(options: Options, inspection: Inspection, *, page: bool, figure: bool) -> None:
    """Refuse options that would not change the output."""
    used: set[str] = set()
    if page:
        used |= inspection.on_page
    if figure:
        used |= inspection.in_figure
    if not page and not figure:
        used |= inspection.in_terminal
    idle = sorted((EVERY_CHOICE | {"full"}) - used)
    refuse_options(options, idle, "on the requested output")
    if options.head is not None:
        refuse_options(options, ("combine",), "on a single head")


def _check_paths(options: Options) -> None:
    """Refuse unsupported file extensions and unwritable paths before anything is computed."""
    for path, suffixes in ((options.output, (*PAGES, *METADATA)), (options.png, (*METADATA,))):
        if path and Path(path).suffix.lower() not in suffixes:
            remedy = f"Use {', '.join(suffixes[:-1])} or {suffixes[-1]}."
            raise UserError("the file extension is not supported", place=path, remedy=remedy)
    for path in filter(None, (options.output, options.png, options.json)):
        files.check_file(path)
