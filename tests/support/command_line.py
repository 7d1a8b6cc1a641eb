"""Commands run inside the test process."""

import pytest

from multihead.cli import main

Captured = pytest.CaptureFixture[bytes]


def run(capture: Captured, *arguments: object) -> tuple[str, str]:
    """Run a command that must succeed and return its standard output and standard error."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 0
    out, err = capture.readouterr()
    return out.decode(), err.decode()


def fail(capture: Captured, *arguments: object) -> str:
    """Run a command that must fail with a user error and print nothing else; return the error."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capture.readouterr()
    assert out == b""
    return err.decode()
