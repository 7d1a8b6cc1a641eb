"""Commands, run in the process of the tests."""

import pytest

from multihead.cli import main

Captured = pytest.CaptureFixture[bytes]


def run(capture: Captured, *arguments: object) -> tuple[str, str]:
    """Run a command that must succeed; return its standard output and standard error."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 0
    out, err = capture.readouterr()
    return out.decode(), err.decode()


def fail(capture: Captured, *arguments: object) -> str:
    """Run a command that must fail with exit code 2 and no output; return its error message."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capture.readouterr()
    assert out == b""
    return err.decode()
