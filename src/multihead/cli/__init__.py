"""The command line: a file in this folder is a command, its first line the command's help.

Choosing a command needs nothing but the standard library, so that ``multihead --help`` answers at once;
only the chosen command is imported. Files that begin with an underscore are no commands.
"""

import ast
import difflib
import errno
import gc
import importlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from multihead.errors import UserError

INTERRUPTED, BROKEN_PIPE, BAD_INPUT = 130, 141, 2
"""Exit codes: as a shell reports SIGINT and SIGPIPE; something that the user can put right."""

NAMES = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EACCES)
"""What the system says of names that lead nowhere, or where nobody may go."""

USAGE = """\
usage: multihead COMMAND [options]

{commands}

  multihead COMMAND --help    options of a command
  multihead --version         version
  --debug                     with any command: show the traceback of an error

New here? `multihead quickstart` trains a translator in a few minutes,
without a network."""

OPTIONAL = {"starlette": "serve", "uvicorn": "serve"}
"""Packages that not every installation has, and the extra that brings them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, by default those of this process; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    _survive_odd_terminals()
    # That its cache cannot be written, or is being made, is nothing that a user of ours has to know.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        code = _dispatch([argument for argument in given if argument != "--debug"])
        sys.stdout.flush()
        return code
    except UserError as error:
        if debug:
            traceback.print_exc()
        else:
            _tell(error)
        return BAD_INPUT
    except (MemoryError, RuntimeError) as error:
        fact = _too_much(error)
        if debug or not fact:
            raise
        _tell(UserError(fact, remedy="Give it less; --debug shows where it was."))
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What reads our output has gone (`| head`). Nothing is wrong, and nobody is left to be told.
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        if not debug and error.errno in NAMES:
            _tell(UserError(str(error.strerror).lower(), place=str(error.filename), remedy="Check the name."))
            return BAD_INPUT
        if debug or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        _drop_output()
        place = str(error.filename or "standard output")
        _tell(UserError(f"cannot be written ({error.strerror})", place=place, remedy="Make room."))
        return BAD_INPUT


def _too_much(error: MemoryError | RuntimeError) -> str:
    """Say what there was too much of; nothing: it was another error."""
    if isinstance(error, RecursionError):
        return "too deeply nested"
    # PyTorch has no class of its own for a CPU's memory.
    told = str(error)
    short = isinstance(error, MemoryError) or "can't allocate memory" in told or "out of memory" in told
    return "there is not enough memory" if short else ""


def _drop_output() -> None:
    """Send what is still to be written nowhere, or Python would fail once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def commands() -> dict[str, str]:
    """Return what each command does, by its name, without importing any."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    return {file.stem: _first_line(file) for file in files}


def _first_line(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert docstring, f"{file.name} has a docstring"
    return docstring.split("\n")[0].rstrip(".")


def _dispatch(given: list[str]) -> int:
    if not given or given[0] in ("--help", "-h", "help"):
        print(_usage())
        return 0
    if given[0] == "--version":
        print(f"multihead {_version()}")
        return 0
    name, *rest = given
    if name not in commands():
        near = difflib.get_close_matches(name, commands(), n=1)
        remedy = f'Did you mean "{near[0]}"?' if near else "`multihead --help` lists the commands."
        raise UserError(f'there is no command "{name}"', remedy=remedy)
    try:
        command: Callable[[list[str]], int] = importlib.import_module(f"{__name__}.{name}").main
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        remedy = f"pip install 'multihead[{OPTIONAL[error.name]}]'"
        raise UserError(f"{error.name} is not installed", place=f"multihead {name}", remedy=remedy) from error
    gc.freeze()  # what was imported stays: looking through it again and again took 7 % of a translation
    if "torch" in sys.modules:  # a command that computes
        importlib.import_module("multihead.hardware").use_threads()
    return command(rest)


def _usage() -> str:
    width = max(map(len, commands())) + 4
    return USAGE.format(commands="\n".join(f"  {name:{width}}{does}" for name, does in commands().items()))


def _version() -> str:
    version: str = importlib.import_module("multihead").__version__
    return version


def _tell(error: UserError) -> None:
    console: Callable[[UserError], None] = importlib.import_module(f"{__name__}._console").tell_error
    console(error)


def _survive_odd_terminals() -> None:
    """Let a terminal that cannot show a character show its number, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
