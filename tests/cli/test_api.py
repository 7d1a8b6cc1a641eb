"""The command line's words for Python."""

import subprocess
import sys
from pathlib import Path

import pytest

import multihead


def test_a_run_is_loaded_and_translates(trained: Path) -> None:
    one, nothing = multihead.load(trained).translate(["eins zwei", ""])
    assert one.hypotheses
    assert nothing.text == ""
    assert len(multihead.load(trained, str(trained)).models) == 2


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = "import sys, multihead; multihead.__version__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = multihead.lode
