"""Console output: results go to standard output, messages to standard error.

Colours and animation are used on terminals only, and never if ``NO_COLOR`` or ``CI`` is set.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from multihead.errors import UserError
from multihead.system.terminal import escape_unprintable

MAX_NOTES = 20
"""Number of notes on truncated or untranslated lines that are printed; further ones are counted."""


def output(*, quiet: bool = False) -> Console:
    """Return the console on standard output; a quiet one prints nothing."""
    console = _console(stderr=False)
    console.quiet = quiet
    return console


def messages() -> Console:
    """Return the console on standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    # CI output is a log, not a terminal. Markup is off, so that brackets in sentences stay brackets.
    plain = False if os.environ.get("CI") else None
    return Console(
        stderr=stderr, force_terminal=plain, markup=False, highlight=False, emoji=False, soft_wrap=True
    )


def print_error(error: UserError) -> None:
    """Print an error as one line on standard error."""
    messages().print(Text.assemble(("multihead: ", "bold red"), escape_unprintable(str(error))))


def program() -> str:
    """Return the shell command of this program, so that printed commands can be pasted."""
    called = Path(sys.argv[0])
    if called.name != "multihead":
        return f"{shlex.quote(sys.executable)} -m multihead"
    on_path = shutil.which("multihead")
    return (
        "multihead" if on_path and called.resolve() == Path(on_path).resolve() else shlex.quote(str(called))
    )
