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
