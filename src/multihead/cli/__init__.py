"""Command line: one module per command; the first line of its docstring is its line in ``multihead --help``.

Dispatch uses the standard library only and imports just the chosen command, so that ``multihead --help`` is
fast. Modules with a leading underscore are helpers.
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
from functools import cache
from pathlib import Path

from multihead.errors import UserError
from multihead.system import plugins
from multihead.system.cores import use_one_blas_thread
from multihead.system.imports import optional_packages, without_collection

INTERRUPTED, BROKEN_PIPE, BAD_INPUT = 130, 141, 2
"""Exit codes: those of a shell for SIGINT and SIGPIPE, and that of an error the user can fix."""

BAD_PATHS = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EACCES)
"""System errors caused by an invalid or inaccessible path."""

USAGE = """\
usage: multihead COMMAND [options]

{commands}

options:
  COMMAND --help              show the options of a command
  --version                   show the version
  --debug                     with any command: show the traceback of an error
  --model.file FILE           with any command: a Python file of your own with a
                              model, which is executed: docs/how-to/extending.md

exit codes:
{codes}

New here? `multihead quickstart` trains a translator in a few minutes,
without a network."""

GROUPS = {
    "train": ("train", "quickstart", "recipes", "sweep", "distill", "diversify", "lengthen"),
    "translate": ("translate", "evaluate", "score", "compare", "inspect", "serve", "export"),
    "data": ("data", "clean", "split", "align", "synthesise", "tokenise", "pieces"),
    "other models": ("generate", "fill", "classify", "tag", "answer", "detect", "draw"),
}
"""Commands by what one wants; all others are tools."""

EXIT_CODES = {
    0: "done",
    1: "damage was found (verify), a part failed (sweep), or a bug",
    2: "an error that you can correct, in one line; also a training that diverged",
    130: "interrupted by Ctrl-C (SIGINT); a training is saved",
    138: "SIGUSR1: a training is saved, to be started again",
    141: "the reader of the output has closed the pipe",
    143: "terminated (SIGTERM); a training is saved",
}

FILE_OPTION = "--model.file"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: the command line after the program's name; None: that of this process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    _escape_unencodable_output()
    use_one_blas_thread()
    # Matplotlib's messages about its cache do not concern our users.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        code = _dispatch(_with_files_named([argument for argument in given if argument != "--debug"]))
        sys.stdout.flush()
        return code
    except UserError as error:
        if debug:
            traceback.print_exc()
        else:
            _print_error(error)
        return error.code
    except (MemoryError, RuntimeError) as error:
        fact = _exhaustion(error)
        if debug or not fact:
            raise
        _print_error(UserError(fact, remedy="Reduce the input; --debug shows the traceback."))
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed the pipe, as `| head` does. That is not an error.
        _discard_output()
        return BROKEN_PIPE
    except OSError as error:
        if not debug and error.errno in BAD_PATHS:
            fact = str(error.strerror).lower()
            _print_error(UserError(fact, place=str(error.filename), remedy="Check the path."))
            return BAD_INPUT
        if debug or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        _discard_output()
        place = str(error.filename or "standard output")
        fact = f"cannot be written ({error.strerror})"
        _print_error(UserError(fact, place=place, remedy="Free some disk space."))
        return BAD_INPUT


def _with_files_named(given: list[str]) -> list[str]:
    """Register the files that ``--model.file`` names, and return the other arguments.

    Raises:
        UserError: no file is given, or it cannot be read.
    """
    rest: list[str] = []
    remaining = iter(given)
    for argument in remaining:
        option, equals, value = argument.partition("=")
        if option != FILE_OPTION:
            rest.append(argument)
        elif path := value if equals else next(remaining, ""):
            plugins.name_file(path)
        else:
            raise UserError("no file was given", place=FILE_OPTION, remedy=f"{FILE_OPTION} my_model.py")
    return rest


def _exhaustion(error: MemoryError | RuntimeError) -> str:
    """Return the fact of an error about memory or recursion depth; "" for any other error."""
    if isinstance(error, RecursionError):
        return "the input is too deeply nested"
    # PyTorch raises a plain RuntimeError when the CPU's memory is exhausted.
    text = str(error)
    signs = ("can't allocate memory", "Cannot allocate memory", "out of memory")
    exhausted = isinstance(error, MemoryError) or any(sign in text for sign in signs)
    return "there is not enough memory" if exhausted else ""


def _discard_output() -> None:
    """Redirect standard output to the null device, so that Python's flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _files() -> dict[str, Path]:
    """Return the file of each command by name."""
    return {file.stem: file for file in sorted(Path(__file__).parent.glob("[!_]*.py"))}


@cache
def commands() -> dict[str, str]:
    """Return the description of each command by name, without importing any."""
    return {name: _first_line(file) for name, file in _files().items()}


def _first_line(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert docstring, f"{file.name} has no docstring"
    return docstring.split("\n")[0].rstrip(".")


def _dispatch(given: list[str]) -> int:
    if not given or given[0] in ("--help", "-h", "help"):
        print(_usage())
        return 0
    if given[0] == "--version":
        print(f"multihead {_version()}")
        return 0
    name, *rest = given
    if name not in _files():
        near = difflib.get_close_matches(name, _files(), n=1)
        remedy = f'Did you mean "{near[0]}"?' if near else "`multihead --help` lists the commands."
        raise UserError(f'there is no command "{name}"', remedy=remedy)
    return run_command(name, rest)


def run_command(name: str, arguments: list[str]) -> int:
    """Import a command, run it and return its exit code.

    Raises:
        UserError: it needs an extra that is not installed, or fails itself.
    """
    with optional_packages(f"`multihead {name}`"):
        with without_collection():
            command: Callable[[list[str]], int] = importlib.import_module(f"{__name__}.{name}").main
        gc.freeze()  # imported objects stay alive: scanning them repeatedly took 7 % of a translation's time
        if sys.modules.get("torch"):  # a command that computes
            importlib.import_module("multihead.system.hardware").use_threads()
        return command(arguments)


def _usage() -> str:
    rest = [name for name in commands() if not any(name in names for names in GROUPS.values())]
    width = max(map(len, commands())) + 4
    blocks = []
    for group, names in {**GROUPS, "tools": rest}.items():
        lines = [f"  {name:{width}}{commands()[name]}" for name in names]
        blocks.append("\n".join([f"{group}:", *lines]))
    codes = "\n".join(f"  {code:>3}  {text}" for code, text in EXIT_CODES.items())
    return USAGE.format(codes=codes, commands="\n\n".join(blocks))


def _version() -> str:
    version: str = importlib.import_module("multihead").__version__
    return version


def _print_error(error: UserError) -> None:
    print_error: Callable[[UserError], None] = importlib.import_module(f"{__name__}._console").print_error
    print_error(error)


def _escape_unencodable_output() -> None:
    """Escape characters that the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
