"""A run folder from elsewhere: what is no ordinary file is refused, not waited for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.recipe import load
from multihead.run import journal, model_file, tensors
from multihead.system import disk
from multihead.text.tokenizer import Tokenizer

READERS: dict[str, Callable[[Path], object]] = {
    "a recipe": load,
    "a model's description": model_file.read_json,
    "weights": tensors.load,
    "a vocabulary": Tokenizer.load,
    "a log": lambda path: list(journal.events(path)),
}


@pytest.fixture(params=["pipe", "device"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "file.toml"
    if request.param == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    return path


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
@pytest.mark.parametrize("what", READERS)
def test_a_pipe_or_a_device_is_refused(special: Path, what: str) -> None:
    with pytest.raises(UserError, match=rf"{special}: .*not a regular file"):
        READERS[what](special)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(disk.MAX_BYTES + 1)  # a hole: it takes no room
    with pytest.raises(UserError, match=r"large\.json: cannot be read \(File too large\)"):
        model_file.read_json(tmp_path / "large.json")
