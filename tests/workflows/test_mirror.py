"""A training resumes on another machine from the copy that --mirror keeps."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from watching import Silent

from multihead.cli import main
from multihead.data.hashes import file_sha256
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run.files import PARTIAL
from multihead.workflows.mirror import Mirror
from multihead.workflows.train import train

Make = Callable[..., Recipe[Settings]]
ADDRESS = "memory://bucket/run"


@pytest.fixture
def store() -> Iterator[Any]:
    """An object store in memory."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def names(store: Any) -> set[str]:
    return {path.removeprefix("/bucket/run/") for path in store.find("/bucket/run")}


def lose_power(event: dict[str, object]) -> None:
    if event["step"] == 5:
        raise KeyError("pulled the plug")


def test_a_lost_machine_resumes_from_the_mirror_with_the_same_bytes(
    tmp_path: Path, small: Make, store: Any
) -> None:
    train(small(), tmp_path / "whole", Silent())
    with pytest.raises(KeyError):
        train(small(), tmp_path / "first", Silent(lose_power), mirror=ADDRESS)
    shutil.rmtree(tmp_path / "first")
    again = Silent()
    train(small(), tmp_path / "second", again, mirror=ADDRESS)
    assert again.began_at == 4
    one, two = (tmp_path / name / "model.safetensors" for name in ("whole", "second"))
    assert file_sha256(one) == file_sha256(two)
    here = {
        path.relative_to(tmp_path / "second").as_posix()
        for path in (tmp_path / "second").rglob("*")
        if path.is_file() and path.name != ".lock"
    }
    assert names(store) == here
    for name in here:
        assert store.cat_file(f"/bucket/run/{name}") == (tmp_path / "second" / name).read_bytes()


def test_a_run_that_is_there_is_not_replaced(tmp_path: Path, small: Make, store: Any) -> None:
    folder = tmp_path / "run"
    train(small(), folder, Silent(), mirror=ADDRESS)
    before = (folder / "metrics.jsonl").read_bytes()
    store.pipe_file("/bucket/run/metrics.jsonl", b"other")
    assert not Mirror(ADDRESS, folder).fetch()
    assert (folder / "metrics.jsonl").read_bytes() == before


def test_only_what_changed_is_copied_and_unfinished_files_never(tmp_path: Path, store: Any) -> None:
    for name in ("recipe.toml", "checkpoints/a", f"checkpoints/b.x{PARTIAL}/whole/b", ".lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    mirror = Mirror(ADDRESS, tmp_path)
    mirror.push()
    assert names(store) == {"recipe.toml", "checkpoints/a"}
    store.pipe_file("/bucket/run/recipe.toml", b"untouched")
    (tmp_path / "checkpoints" / "a").rename(tmp_path / "checkpoints" / "c")
    mirror.push()
    assert names(store) == {"recipe.toml", "checkpoints/c"}
    assert store.cat_file("/bucket/run/recipe.toml") == b"untouched"


def test_an_address_without_rights_is_refused_before_the_training(
    tmp_path: Path, small: Make, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(type(store), "pipe_file", refuse)
    with pytest.raises(UserError, match=r"memory://bucket/run: cannot be written to \(Access Denied\)"):
        train(small(), tmp_path / "run", Silent(), mirror=ADDRESS)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("address", "fact"), [("s4://bucket/run", "Protocol not known: s4"), ("abfs://x/y", "not installed")]
)
def test_an_address_of_no_known_kind_is_refused(tmp_path: Path, address: str, fact: str) -> None:
    with pytest.raises(UserError, match=fact):
        Mirror(address, tmp_path)


def test_a_copy_that_fails_later_is_a_warning(
    tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "recipe.toml").write_text("x")
    mirror = Mirror(ADDRESS, tmp_path)

    def refuse(*_: object) -> None:
        raise OSError("the network is unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "put_file", refuse)
        mirror.push()
    assert "not copied (the network is unreachable); the next validation tries again" in caplog.text
    mirror.push()
    assert names(store) == {"recipe.toml"}


def test_the_command_resumes_a_mirrored_run_that_names_no_recipe(
    tmp_path: Path, corpus: Path, store: Any
) -> None:
    files = ["--src", str(corpus / "train.de"), "--tgt", str(corpus / "train.en"), "--mirror", ADDRESS]
    sizes = {"model.d_model": 14, "model.d_ff": 22, "model.num_heads": 2, "model.num_layers": 1}
    keys = {**sizes, "training.steps": 3, "validation.every": 2, "validation.max_examples": 5}
    given = [*files, *(part for key, value in keys.items() for part in (f"--{key}", str(value)))]
    given += ["--tokenizer.kind", "chars", "--search.max_length", "5", "--training.schedule", "constant"]
    assert main(["train", *given, "--run", str(tmp_path / "first")]) == 0
    assert main(["train", *given, "--run", str(tmp_path / "second"), "--training.steps", "4"]) == 0
    events = [line for line in (tmp_path / "second" / "metrics.jsonl").read_text().split("\n") if line]
    assert sum('"validation"' in line for line in events) == 2
    assert not Mirror(ADDRESS, tmp_path / "second").fetch()
