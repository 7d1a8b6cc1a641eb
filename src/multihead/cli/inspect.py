"""Look at what a model attends to while it translates a sentence.

    multihead inspect runs/de-en "Ein Hund schläft."
    multihead inspect runs/de-en "Ein Hund schläft." -o attention.svg

Without a file the map is drawn in the terminal: output rows by source columns,
the darker the more attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from multihead.cli import _console, _options
from multihead.cli._shades import shades
from multihead.errors import UserError
from multihead.generation import Translator
from multihead.inspect import heatmap, inspect_sentence


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
    """Picture to draw: .svg, .png or .pdf. [the terminal]"""
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
    alignment = inspect_sentence(
        Translator.load(options.run, device=options.device),
        options.sentence,
        options.target,
        layer=options.layer,
        head=options.head,
        combine=options.combine,
        words=options.words,
        specials=options.specials,
    )
    console = _console.output()
    if options.output is None:
        console.print(shades(alignment, console.width))
        console.print(alignment.caption, style="dim", soft_wrap=not console.is_terminal)
    else:
        heatmap(alignment, options.output)
    return 0
