"""Where the command line writes: results to standard output, messages to standard error.

Coloured and animated only on a terminal, and not where ``NO_COLOR`` or ``CI`` is set.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from multihead.errors import UserError
from multihead.terminal import escape_unprintable

NOTES = 20
"""Lines that were cut or not translated that are told one by one; the others are counted."""


def output() -> Console:
    """Return the console on standard output."""
    return _console(stderr=False)


def messages() -> Console:
    """Return the console on standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    # In CI a log is read, not a terminal. Markup is off: brackets in sentences are brackets.
    plain = False if os.environ.get("CI") else None
    return Console(
        stderr=stderr, force_terminal=plain, markup=False, highlight=False, emoji=False, soft_wrap=True
    )


def tell_error(error: UserError) -> None:
    """Print one line about what the user can put right."""
    messages().print(Text.assemble(("multihead: ", "bold red"), escape_unprintable(str(error))))


def program() -> str:
    """Return how this program is called from a shell, so that what is printed can be pasted."""
    called = Path(sys.argv[0])
    if called.name != "multihead":
        return f"{shlex.quote(sys.executable)} -m multihead"
    on_path = shutil.which("multihead")
    return (
        "multihead" if on_path and called.resolve() == Path(on_path).resolve() else shlex.quote(str(called))
    )
