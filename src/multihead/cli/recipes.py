"""List the built-in recipes, or print one with all its settings.

Settings that a corpus decides are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.table import Table

from multihead import recipe
from multihead.cli import _console, _options
from multihead.recipe import built_in as recipes
from multihead.system import disk

HEADINGS = {
    "transformer": "Translation: Transformers",
    "seq2seq": "Translation: recurrent and convolutional models",
    "rnn_attention": "Translation: recurrent and convolutional models",
    "conv_s2s": "Translation: recurrent and convolutional models",
    "gpt": "Text generation: GPT",
    "bert": "Text understanding: BERT",
    "bert_classifier": "Text understanding: BERT",
    "bert_spans": "Text understanding: BERT",
    "bert_tagger": "An output for each word: taggers",
    "vit": "Image classification: ViT",
    "detr": "Object detection: DETR",
    "conv_detector": "Object detection: DETR",
    "set_encoder": "Sets of images: the odd one out",
    "deep_sets": "Sets of images: the odd one out",
    "dalle": "Text to image: DALL-E",
}
"""Heading of the recipes of each model kind."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    name: Annotated[_options.Name, _options.Option(metavar="[NAME]")] = None
    """Recipe to print in full, as TOML that can be saved and changed."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.name:
        loaded = recipe.load(options.name)
        text = recipe.to_toml(loaded)
        if loaded.is_open:  # what it does not name is not one of its settings
            text = disk.content(recipes.path(options.name) or Path(options.name)).decode()
        print(text, end="")
        return 0
    console = _console.output()
    for heading, about in _group(recipes.describe()).items():
        console.print(heading, style="bold")
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        for name, text in about.items():
            table.add_row(f"    {name}" if recipes.row(name) else f"  {name}", text)
        console.print(table, soft_wrap=False)
        console.print()
    hint = (
        "`multihead recipes NAME` prints a recipe, `multihead train NAME` trains it. A translator for your "
        "own corpus needs no recipe: `multihead train --src FILE --tgt FILE`."
    )
    console.print(hint, soft_wrap=False)
    return 0


def _group(described: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Group the descriptions by heading; models without a heading come last, under their own name."""
    groups: dict[str, dict[str, str]] = {heading: {} for heading in HEADINGS.values()}
    for name, text in described.items():
        kind = recipes.model(name)
        groups.setdefault(HEADINGS.get(kind, kind), {})[name] = text
    return {heading: about for heading, about in groups.items() if about}
