"""Progress bar on standard error for countable work; hidden unless it is a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from multihead.cli import _console
from multihead.system.progress import OnCount


@contextmanager
def progress_bar(description: str) -> Iterator[OnCount]:
    """Show a progress bar during the block, which gets a callback (done, total)."""
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
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
