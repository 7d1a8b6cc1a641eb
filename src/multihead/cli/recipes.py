"""List the built-in recipes, or show one with every setting."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from multihead import recipe, recipes
from multihead.cli import _console, _options


@dataclass(frozen=True)
class Options:
    """What can be said."""

    name: _options.Name = None
    """A recipe to show in full: as TOML, ready to be saved and changed."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.name:
        print(recipe.to_toml(recipe.load(options.name)), end="")
        return 0
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for name, about in recipes.describe().items():
        table.add_row(name, about)
    _console.output().print(table, soft_wrap=False)
    return 0
