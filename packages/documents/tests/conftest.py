"""Conditions of the library's tests: repeatable, without waiting for the disk."""

import os
from collections.abc import Iterator

import hypothesis
import pytest

hypothesis.settings.register_profile("documents", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("documents")


@pytest.fixture(autouse=True, scope="session")
def disk_without_waiting() -> Iterator[None]:
    """Leave files in the page cache: no test outlives a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield
