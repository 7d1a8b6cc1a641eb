"""The documentation as a site, built once."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("jupytext", "latex2mathml", "markdown_it", "nbformat", "pygments"):
        pytest.importorskip(package, reason="the extra `course` is not installed")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "docs/site/build.py", "--out", str(out), "--course", str(out / "none")]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True, capture_output=True)
    return out
