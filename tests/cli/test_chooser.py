"""Dispatch of commands, and error handling."""

import io
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

import multihead
from multihead import cli
from multihead.cli import BAD_INPUT, BROKEN_PIPE, INTERRUPTED, commands, main
from multihead.errors import UserError

RUN = [sys.executable, "-m", "multihead"]


def command(monkeypatch: pytest.MonkeyPatch, behaviour: object) -> None:
    """Replace the command ``recipes`` by a function."""
    monkeypatch.setitem(
        sys.modules, "multihead.cli.recipes", cast(ModuleType, SimpleNamespace(main=behaviour))
    )


def test_help_lists_every_command_with_its_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    files = [file.stem for file in Path(cli.__file__).parent.glob("*.py") if not file.stem.startswith("_")]
    assert {"train", "translate", "recipes"} <= set(files)
    for name in files:
        assert re.search(rf"^  {name} +[A-Z]", output, re.MULTILINE)


def test_help_fits_into_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert max(map(len, capsys.readouterr().out.split("\n"))) <= 80


def test_descriptions_of_commands_fit_into_80_columns() -> None:
    for name in commands():
        text = (Path(cli.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        assert max(map(len, text.split('"""')[1].split("\n"))) <= 80, name


def test_help_imports_neither_torch_nor_a_library() -> None:
    code = (
        "import sys; from multihead.cli import main; main(['--help']); "
        "sys.exit(bool({'torch', 'tyro', 'pydantic', 'rich', 'numpy'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_help_takes_less_than_half_a_second() -> None:
    """CPU time is measured, so that a busy machine does not matter."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*RUN, "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) <= 0.5


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"multihead {multihead.__version__}\n"


def test_an_unknown_command_names_the_nearest_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trian"]) == BAD_INPUT == 2
    captured = capsys.readouterr()
    assert captured.err == 'multihead: there is no command "trian". Did you mean "train"?\n'
    assert captured.out == ""


def test_private_modules_are_not_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["_console"]) == BAD_INPUT
    assert main(["__init__"]) == BAD_INPUT
    assert "no command" in capsys.readouterr().err


def test_a_user_error_is_one_line_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise UserError(
            "not UTF-8 [byte 0xE4]", place="train.de:4711", remedy="Convert the file." + " x" * 60
        )

    command(monkeypatch, fail)
    assert main(["recipes"]) == BAD_INPUT
    line, rest = capsys.readouterr().err.split("\n")
    assert line.startswith("multihead: train.de:4711: not UTF-8 [byte 0xE4]. Convert the file. x x")
    assert rest == ""


def test_debug_shows_the_traceback_and_is_not_passed_to_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise UserError(f"got {arguments}")

    command(monkeypatch, fail)
    assert main(["recipes", "seven", "--debug"]) == BAD_INPUT
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert "got ['seven']" in error


def test_a_bug_is_not_reported_as_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: list[str]) -> int:
        raise ZeroDivisionError

    command(monkeypatch, fail)
    with pytest.raises(ZeroDivisionError):
        main(["recipes"])


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    command(monkeypatch, fail)
    assert main(["recipes"]) == INTERRUPTED == 130


def test_a_closed_pipe_is_not_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*RUN, "--help"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_user_error() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*RUN, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == BAD_INPUT
    assert done.stderr.startswith("multihead: standard output: cannot be written")


@pytest.mark.parametrize("variable", ["NO_COLOR", "CI"])
def test_errors_are_plain_if_colour_is_disabled(variable: str) -> None:
    shell = f"{variable}=1 TERM=xterm script -qec '{sys.executable} -m multihead recipes nothing' /dev/null"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert "no recipe" in done.stdout
    assert "\033[1;31m" not in done.stdout


def test_errors_are_coloured_on_a_terminal() -> None:
    shell = f"env -u CI -u NO_COLOR TERM=xterm script -qec '{sys.executable} -m multihead foo' /dev/null"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert "\033[1;31mmultihead: " in done.stdout


def test_characters_that_the_terminal_lacks_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    def greet(arguments: list[str]) -> int:
        print("안녕 ü")
        return 0

    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    monkeypatch.setattr(sys, "stdout", terminal)
    command(monkeypatch, greet)
    assert main(["recipes"]) == 0
    assert terminal.buffer.getvalue() == b"\\uc548\\ub155 \\xfc\n"


def test_an_unwritable_home_causes_no_warning() -> None:
    code = "import sys; from multihead.cli import main; main(['--version']); import matplotlib.pyplot"
    environment = {**os.environ, "HOME": "/proc", "MPLBACKEND": "svg"}
    for key in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        environment.pop(key, None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stderr == b""


def test_a_path_that_is_too_long_is_a_user_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "a" * 5003]) == BAD_INPUT
    assert "too long. Check the path." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "fact"), [(MemoryError, "not enough memory"), (RecursionError, "too deeply")]
)
def test_exhausted_memory_and_recursion_are_user_errors(
    error: type[Exception], fact: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise error

    command(monkeypatch, fail)
    assert main(["recipes"]) == BAD_INPUT
    assert fact in capsys.readouterr().err


def test_control_characters_in_errors_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "a\x1b[31m\nb"]) == BAD_INPUT
    assert "a\\x1b[31m\\x0ab" in capsys.readouterr().err.replace("\n", "")
