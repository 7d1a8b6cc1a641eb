"""What holds for all tests: one thread, no network, no files outside temporary folders, repeatable."""

import os

# Before torch and transformers are imported; child processes inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait leave the cores to others
os.environ["HF_HUB_OFFLINE"] = "1"

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch

from multihead import native

torch.set_num_threads(1)

hypothesis.settings.register_profile("multihead", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("multihead")


@pytest.fixture(autouse=True, scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the tests' own; the user's is never touched."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Random tensors are the same in every run, whichever tests run before."""
    torch.manual_seed(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of corpora beside the repository."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no corpora beside the repository (../shared/data)")
    return folder


UNCOMPILED = pytest.param("", marks=pytest.mark.skip(reason="the native part was not compiled"))


@pytest.fixture(params=native.LEVELS or [UNCOMPILED])
def native_level(request: pytest.FixtureRequest) -> Iterator[str]:
    """The test again at every level of the native kernels that this processor runs."""
    with native.use(request.param):
        yield request.param


@pytest.fixture(params=["", *native.LEVELS], ids=lambda level: level or "PyTorch")
def every_level(request: pytest.FixtureRequest) -> Iterator[str]:
    """The test again in plain PyTorch, and at every level of the native kernels."""
    with native.use(request.param):
        yield request.param
