"""Conditions of the library's tests: repeatable, with the modules of ``support`` at hand."""

import sys
from pathlib import Path

import hypothesis

sys.path.insert(0, str(Path(__file__).parent / "support"))

hypothesis.settings.register_profile("documents", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("documents")
