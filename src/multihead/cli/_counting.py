"""A bar on standard error for work that is counted; nothing where there is no terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from multihead.cli import _console
from multihead.progress import OnCount


@contextmanager
def counted(what: str) -> Iterator[OnCount]:
    """Show a bar inside the block; the block gets what it has to tell (done, in all)."""
    console = _console.messages()
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
