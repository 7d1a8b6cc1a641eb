"""List the known corpora, or get one.

Files are checked by their SHA-256; a download that broke off is taken up where
it stopped.

multihead data list
multihead data get multi30k
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

from multihead.cli import _console, _options
from multihead.data.download import get
from multihead.data.known import KNOWN, known
from multihead.errors import UserError


@dataclass(frozen=True)
class Options:
    """What can be said."""

    action: Annotated[Literal["list", "get"], tyro.conf.Positional]
    """What to do."""
    name: _options.Name = None
    """The corpus to get."""
    to: _options.Folder = None
    """Folder to put it in; by default data/NAME, where the built-in recipes look for it."""
    source: Annotated[_options.Folder, tyro.conf.arg(name="from")] = None
    """Take the files from this folder instead of downloading them."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    console = _console.output()
    if options.action == "list":
        _list(console)
        return 0
    if options.name is None:
        raise UserError("which corpus?", place="multihead data get", remedy=f"Known are: {', '.join(KNOWN)}.")
    corpus = known(options.name)
    folder = Path(options.to or f"data/{corpus.name}")
    with _Transfers(console) as transfers:
        source = Path(options.source) if options.source else None
        get(corpus, folder, source=source, progress=transfers.show)
    console.print(f"{corpus.name}: {len(corpus.files)} files in {folder}, checksums right")
    if corpus.then:
        console.print(f"then: {corpus.then}", soft_wrap=True)
    return 0


def _list(console: Console) -> None:
    for corpus in KNOWN.values():
        table = Table.grid(padding=(0, 2))
        size = sum(file.size for file in corpus.files) / 1e6
        table.add_row("  from", corpus.origin)
        table.add_row("  licence", corpus.licence)
        table.add_row("  size", f"{size:.1f} MB in {len(corpus.files)} files")
        table.add_row("  get", "multihead data get " + corpus.name + ("" if corpus.url else " --from FOLDER"))
        if corpus.by_hand:
            table.add_row("  by hand", corpus.by_hand)
        if corpus.then:
            table.add_row("  then", corpus.then)
        console.print(f"{corpus.name}: {corpus.about}")
        console.print(table, soft_wrap=False)
        console.print()


class _Transfers(Progress):
    """A bar for the file that is being fetched; nothing where there is no terminal."""

    def __init__(self, console: Console) -> None:
        columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn()
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self.add_task("", total=None)

    def show(self, name: str, done: int, total: int) -> None:
        """Show how far a file has come."""
        self.update(self._task, description=name, completed=done, total=total)
