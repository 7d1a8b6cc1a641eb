"""Commands run inside the tests' own process."""

import pytest

from multihead.cli import main

Captured = pytest.CaptureFixture[bytes]


def run(capture: Captured, *arguments: object) -> tuple[str, str]:
    """Run a command that shall succeed; return what it wrote to standard output and to standard error."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 0
    out, err = capture.readouterr()
    return out.decode(), err.decode()


def fail(capture: Captured, *arguments: object) -> str:
    """Run a command that shall end with an error; return it. Nothing else is written."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capture.readouterr()
    assert out == b""
    return err.decode()
