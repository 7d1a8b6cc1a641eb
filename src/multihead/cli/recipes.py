"""List the built-in recipes, or show one with every setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.table import Table

from multihead import recipe, recipes
from multihead.cli import _console, _options

HEADINGS = {
    "transformer": "Translation: Transformers",
    "seq2seq": "Translation: what came before",
    "rnn_attention": "Translation: what came before",
    "conv_s2s": "Translation: what came before",
    "gpt": "Text that is written on: GPT",
    "bert": "Text that is read: BERT",
    "bert_classifier": "Text that is read: BERT",
    "vit": "Pictures that are told apart: ViT",
    "dalle": "Pictures from words: DALL-E",
}
"""What stands above the recipes of a kind of model."""


@dataclass(frozen=True)
class Options:
    """What can be said."""

    name: Annotated[_options.Name, tyro.conf.arg(metavar="[NAME]")] = None
    """A recipe to show in full: as TOML, ready to be saved and changed."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.name:
        print(recipe.to_toml(recipe.load(options.name)), end="")
        return 0
    console = _console.output()
    for heading, about in _grouped(recipes.describe()).items():
        console.print(heading, style="bold")
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        for name, text in about.items():
            table.add_row(f"  {name}", text)
        console.print(table, soft_wrap=False)
        console.print()
    told = (
        "`multihead recipes NAME` shows one in full, `multihead train NAME` trains it. A translator of your "
        "own needs none: `multihead train --src FILE --tgt FILE`."
    )
    console.print(told, soft_wrap=False)
    return 0


def _grouped(described: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the descriptions by what their models are for; a model that no heading knows comes last."""
    groups: dict[str, dict[str, str]] = {heading: {} for heading in HEADINGS.values()}
    for name, text in described.items():
        kind = recipes.model(name)
        groups.setdefault(HEADINGS.get(kind, kind), {})[name] = text
    return {heading: about for heading, about in groups.items() if about}
