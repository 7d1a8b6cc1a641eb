"""Conditions of all tests: one thread, no network, no files outside temporary folders, repeatable."""

import gc
import os

# Before torch and transformers are imported; child processes inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads yield their core
os.environ["HF_HUB_OFFLINE"] = "1"

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch

from multihead.system import native

torch.set_num_threads(1)
gc.freeze()
gc.set_threshold(50_000, 20, 50)
gc.enable()

hypothesis.settings.register_profile("multihead", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("multihead")


@pytest.fixture(autouse=True, scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder for the tests, so that the user's is never touched."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True, scope="session")
def disk_without_waiting() -> Iterator[None]:
    """Leave files in the page cache: no test outlives a power cut, and waiting takes longer than training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def seeds_of_present_devices() -> Iterator[None]:
    """Seed no absent accelerator: for each of three, PyTorch formats the whole stack at every seed."""
    with pytest.MonkeyPatch.context() as patch:
        for device in (torch.cuda, torch.xpu, torch.mtia):
            if not device.is_available():
                patch.setattr(device, "manual_seed_all", lambda seed: None)
        yield


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed torch, so that random tensors do not depend on earlier tests."""
    torch.manual_seed(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The corpora next to the repository; skips the test where they are absent."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no corpora next to the repository (../shared/data)")
    return folder


UNCOMPILED = pytest.param("", marks=pytest.mark.skip(reason="the native kernels were not compiled"))


@pytest.fixture(params=native.LEVELS or [UNCOMPILED])
def native_level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test at every level of the native kernels that this processor supports."""
    with native.use(request.param):
        yield request.param


@pytest.fixture(params=["", *native.LEVELS], ids=lambda level: level or "PyTorch")
def every_level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test in plain PyTorch and at every level of the native kernels."""
    with native.use(request.param):
        yield request.param
