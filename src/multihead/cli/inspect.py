"""Look at what a model attends to while it translates a sentence.

    multihead inspect runs/de-en "Ein Hund schläft."
    multihead inspect runs/de-en "Ein Hund schläft." -o page.html
    multihead inspect runs/de-en "Ein Hund schläft." -o attention.svg

The page shows every layer and head, the search, what goes in, and the numbers
of one head; it needs no network. Without a file the map is drawn in the
terminal: output rows by source columns, the darker the more attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from multihead.attention_maps import Choice, align
from multihead.cli import _console, _options
from multihead.cli._shades import shades
from multihead.errors import UserError
from multihead.generation import Translator
from multihead.inspect import heatmap, record_sentence
from multihead.inspect.page import explore, make_page, numbers_as_json
from multihead.run import files

PAGES = (".html", ".htm")
"""Endings of names of pages."""


@dataclass(frozen=True)
class Options:
    """What can be said."""

    run: Annotated[_options.Name, tyro.conf.arg(metavar="RUN")] = None
    """Run folder."""
    sentence: Annotated[_options.Name, tyro.conf.arg(metavar="SENTENCE")] = None
    """What to translate."""
    target: _options.Text = None
    """Look at this translation instead of the model's own."""
    output: Annotated[_options.File, tyro.conf.arg(aliases=["-o"])] = None
    """Page to write, .html, or picture to draw, .svg, .png or .pdf. [the terminal]"""
    json: _options.File = None
    """Write the page's numbers as JSON too."""
    png: _options.File = None
    """Draw the alignment as a picture too."""
    full: _options.Flag = False
    """Embed all in the page, however large: all tokens and hypotheses, the numbers of all heads."""
    layer: _options.Number = None
    """Decoder layer, from 1. [the one that tells most about the source]"""
    head: _options.Number = None
    """Head, from 1. [all together]"""
    combine: Literal["mean", "max"] = "mean"
    """How several heads are put together."""
    words: _options.Flag = False
    """Merge pieces to words."""
    specials: _options.Flag = False
    """Show the end symbols too."""
    device: _options.Word = "auto"
    """cuda, mps, cpu, or auto: the first of these that there is."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.run is None or options.sentence is None:
        missing = "no run folder is named" if options.run is None else "there is no sentence to look at"
        raise UserError(missing, remedy='multihead inspect RUN "SENTENCE"')
    page = options.output if options.output and Path(options.output).suffix.lower() in PAGES else None
    pictures = [path for path in (options.output, options.png) if path and path != page]
    translator = Translator.load(
        options.run, device=options.device, precision="fp32" if page or options.json else "auto"
    )
    choice = Choice(options.layer, options.head, options.combine)
    if page or options.json:
        explored = explore(
            translator,
            options.sentence,
            options.target,
            name=options.run,
            choice=choice,
            words=options.words,
            specials=options.specials,
            full=options.full,
        )
        recording = explored.recordings[0]
        if page:
            make_page(explored).save(page)
        if options.json:
            files.write_text(Path(options.json), numbers_as_json(explored))
        if not pictures:
            return 0
    else:
        recording = record_sentence(translator, options.sentence, options.target)
    alignment = align(
        recording.records,
        recording.source,
        recording.target,
        choice=choice,
        words=options.words,
        specials=options.specials,
    )
    for path in pictures:
        heatmap(alignment, path)
    if not options.output:
        console = _console.output()
        console.print(shades(alignment, console.width))
        console.print(alignment.caption, style="dim", soft_wrap=not console.is_terminal)
    return 0
