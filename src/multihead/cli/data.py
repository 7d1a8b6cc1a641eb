"""List, download and make known corpora, and manage the cache.

    multihead data list
    multihead data get multi30k
    multihead data make listops --lengths 500-2000 --count 100000
    multihead data make nsmc-documents
    multihead data make shapes --count 20
    multihead data make coreference
    multihead data cache
    multihead data cache --clear --older-than 30

Files are verified by their SHA-256, and interrupted downloads are resumed. The
cache holds prepared data. Data in use by a training is never cleared; cleared
data is prepared again when it is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

from multihead.cli import _console, _options
from multihead.cli._effect import refuse_options
from multihead.cli._making import GivenOptions, make
from multihead.data.cache import CacheEntry, clear, entries
from multihead.data.catalogue import CORPORA, corpus_named
from multihead.data.download import get
from multihead.errors import UserError
from multihead.system.disk import cache_root

OF_MAKE = ("lengths", "count", "seed")
WITHOUT_EFFECT = {
    "list": ("name", "to", "source", "clear", "older_than", "cache", *OF_MAKE),
    "get": ("cache", *OF_MAKE),
    "make": ("clear", "older_than", "cache"),
    "cache": ("name", "to", "source", *OF_MAKE),
}


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    action: Annotated[Literal["list", "get", "make", "cache"], _options.POSITIONAL]
    """Action."""
    name: Annotated[_options.Name, _options.Option(metavar="[NAME]")] = None
    """Corpus to get, or to make: listops, nested operations on digits; nsmc-documents, film reviews joined to
    long documents; shapes, scenes of shapes with their boxes in COCO's format; coreference, English-French
    sentences in which an adjective decides what "it" refers to."""
    to: _options.Folder = None
    """Folder for the corpus. (default: data/NAME, as the built-in recipes expect)"""
    source: Annotated[_options.Folder, _options.Option(name="from")] = None
    """Copy the files from this folder instead of downloading them; of nsmc-documents, NSMC's folder.
    (default: data/nsmc)"""
    clear: _options.Flag = False
    """Remove prepared data from the cache."""
    older_than: Annotated[int | None, _options.Option(metavar="DAYS")] = None
    """Clear only data that was not used for this number of days."""
    lengths: Annotated[str | None, _options.Option(metavar="MIN-MAX")] = None
    """Lengths of listops' expressions, in tokens (default: 100-400; Long Range Arena: 500-2000), or of
    nsmc-documents, in reviews (default: 21-41)."""
    count: _options.Number = None
    """Number of expressions or scenes to make. (default: 20000, 100)"""
    seed: _options.Number = None
    """Random seed of what is made. (default: 1)"""
    cache: _options.Folder = None
    """Cache folder, as in data.cache. (default: the user's cache folder)"""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    console = _console.output()
    refuse_options(
        options, WITHOUT_EFFECT[options.action], f"on `multihead data {options.action}`", {"source": "from"}
    )
    if options.action == "list":
        _list(console)
        return 0
    if options.action == "cache":
        return _cache(options, console)
    if options.clear or options.older_than is not None:
        raise UserError("only the cache can be cleared", remedy="Usage: multihead data cache --clear")
    if options.action == "make":
        seed = 1 if options.seed is None else options.seed
        make(
            GivenOptions(options.name, options.to, options.source, options.lengths, options.count, seed),
            console,
        )
        return 0
    if options.name is None:
        raise UserError(
            "no corpus was given", place="multihead data get", remedy=f"Choose one of {', '.join(CORPORA)}."
        )
    corpus = corpus_named(options.name)
    folder = Path(options.to or f"data/{corpus.name}")
    with _Transfers(console) as transfers:
        source = Path(options.source) if options.source else None
        get(corpus, folder, source=source, progress=transfers.show)
    console.print(f"{corpus.name}: {_files(len(corpus.files))} in {folder}, checksums correct")
    if corpus.next_command:
        console.print(f"next: {corpus.next_command}", soft_wrap=True)
    return 0


def _list(console: Console) -> None:
    for corpus in CORPORA.values():
        table = Table.grid(padding=(0, 2))
        size = sum(file.size for file in corpus.files) / 1e6
        table.add_row("  origin", corpus.origin)
        table.add_row("  licence", corpus.licence)
        table.add_row("  size", f"{size:.1f} MB in {_files(len(corpus.files))}")
        table.add_row("  get", "multihead data get " + corpus.name + ("" if corpus.url else " --from FOLDER"))
        if corpus.instructions:
            table.add_row("  manually", corpus.instructions)
        if corpus.next_command:
            table.add_row("  next", corpus.next_command)
        console.print(f"{corpus.name}: {corpus.description}")
        console.print(table, soft_wrap=False)
        console.print()


def _cache(options: Options, console: Console) -> int:
    root = cache_root(options.cache or "")
    if not options.clear:
        if options.older_than is not None:
            raise UserError("--older-than works only with --clear", remedy="Add --clear.")
        _show(root, entries(root), console)
        return 0
    if (days := options.older_than or 0) < 0:
        raise UserError(f"--older-than {days}", remedy="Give a number of days, at least 0.")
    try:
        removed, remaining = clear(root, older_than=days * 86400)
    except OSError as error:
        fact = f"cannot be removed ({error.strerror or error})"
        raise UserError(
            fact, place=str(error.filename or root), remedy="Check the folder's permissions."
        ) from error
    console.print(f"{root}: {len(removed)} removed, {_megabytes(removed)} MB; {len(remaining)} in use")
    return 0


def _show(root: Path, found: Sequence[CacheEntry], console: Console) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("entry", "kind", "MB", "last used", ""):
        table.add_column(heading, justify="right" if heading == "MB" else "left", no_wrap=True)
    for entry in found:
        used = datetime.fromtimestamp(entry.used).strftime("%Y-%m-%d %H:%M")
        name = entry.folder.name.removeprefix(f"{entry.kind}-")[:12]
        table.add_row(name, entry.kind, _megabytes([entry]), used, "in use" if entry.in_use else "")
    if found:
        console.print(table, soft_wrap=False)
    console.print(f"{root}: {len(found)} in total, {_megabytes(found)} MB")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _megabytes(found: Sequence[CacheEntry]) -> str:
    return f"{sum(entry.size for entry in found) / 1e6:,.1f}"


class _Transfers(Progress):
    """Progress bar of a download; hidden unless standard output is a terminal."""

    def __init__(self, console: Console) -> None:
        columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn()
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self.add_task("", total=None)

    def show(self, name: str, done: int, total: int | None) -> None:
        """Show the progress of a file."""
        self.update(self._task, description=name, completed=done, total=total)
