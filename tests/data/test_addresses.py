"""Files at addresses: copied once, again when they change; trained on, translated, named in errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from multihead.data import cache
from multihead.data.prepare import prepare
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.system import addresses
from multihead.system.disk import cache_root
from multihead.text.lines import read_lines

fsspec = pytest.importorskip("fsspec")

SOURCE, TARGET = "memory://corpus/train.de", "memory://corpus/train.en"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    system = fsspec.filesystem("memory")
    addresses.local_copy.cache_clear()
    yield system
    addresses.local_copy.cache_clear()
    if system.exists("/corpus"):
        system.rm("/corpus", recursive=True)


@pytest.mark.parametrize("name", ["s3://a/b", "memory://x", "https://host/a.gz", "S3://a"])
def test_an_address_is_known_by_its_scheme(name: str) -> None:
    assert addresses.is_address(name)
    assert addresses.absolute(name) == name


@pytest.mark.parametrize("name", ["train.de", "-", "/a/b", "C:\\a", "a:b", "//a/b", "./s3://a", "://a"])
def test_other_names_are_files(name: str) -> None:
    assert not addresses.is_address(name)
    assert addresses.locate_file("folder", name) == Path("folder") / name


def test_a_file_is_fetched_once_and_again_when_it_has_changed(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.pipe_file("/corpus/train.de", b"eins\nzwei\n")
    copy = addresses.local_copy(SOURCE)
    assert copy.name == "train.de"
    monkeypatch.setattr(type(store), "get_file", None)  # a second process does not fetch
    addresses.local_copy.cache_clear()
    assert addresses.local_copy(SOURCE) == copy
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(copy.parents[2]))
    store.pipe_file("/corpus/train.de", b"eins\nzwei\ndrei\n")
    assert addresses.local_copy(SOURCE) == copy  # the same within a process
    addresses.local_copy.cache_clear()
    assert addresses.local_copy(SOURCE).read_bytes() == b"eins\nzwei\ndrei\n"


def test_lines_are_read_from_an_address(store: Any) -> None:
    store.pipe_file("/corpus/train.de", b"eins\r\nzwei\n")
    assert list(read_lines(SOURCE)) == ["eins", "zwei"]


def test_a_corpus_at_addresses_gives_the_store_of_its_files(store: Any, tmp_path: Path) -> None:
    lines = [f"wort {'x' * (number % 7 + 1)} {number}" for number in range(211)]
    content = "".join(f"{line}\n" for line in lines).encode()
    for name in ("train.de", "train.en"):
        store.pipe_file(f"/corpus/{name}", content)
        (tmp_path / name).write_bytes(content)
    tokenizer = TokenizerSettings(vocab_size=283)
    local = {"source": ("train.de",), "target": ("train.en",), "dir": str(tmp_path)}
    one = prepare(DataSettings(**local), tokenizer)
    other = prepare(DataSettings(source=(SOURCE,), target=(TARGET,)), tokenizer)
    assert one.folder == other.folder


def test_copies_are_listed_and_cleared_unless_they_are_in_use(store: Any) -> None:
    store.pipe_file("/corpus/train.de", b"eins\n")
    addresses.local_copy(SOURCE)
    (entry,) = cache.entries(cache_root(""))
    assert (entry.kind, entry.size, entry.in_use) == ("copies", 5, True)


def test_a_fetch_that_fails_leaves_nothing(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store.pipe_file("/corpus/train.de", b"eins\n")

    def broken(_: Any, path: str, to: str) -> None:
        Path(to).write_bytes(b"ei")
        raise OSError("connection lost")

    monkeypatch.setattr(type(store), "get_file", broken)
    with pytest.raises(UserError, match=r"memory://corpus/train.de: cannot be read \(connection lost\)"):
        addresses.local_copy(SOURCE)
    assert not list(cache_root("").glob("*"))


@pytest.mark.parametrize(
    ("address", "fact"),
    [
        ("memory://corpus/none.de", "no such file"),
        ("memory://corpus", "is a folder"),
        ("nonsense://a/b", "not an address"),
    ],
)
def test_an_address_that_cannot_be_read_is_named(store: Any, address: str, fact: str) -> None:
    store.pipe_file("/corpus/train.de", b"eins\n")
    with pytest.raises(UserError, match=fact) as caught:
        list(read_lines(address))
    assert caught.value.place == address


def test_errors_in_a_corpus_name_its_address(store: Any) -> None:
    store.pipe_file("/corpus/train.de", b"eins\nzwei\n")
    store.pipe_file("/corpus/train.en", b"one\n")
    data = DataSettings(source=(SOURCE,), target=(TARGET,))
    with pytest.raises(UserError) as caught:
        prepare(data, TokenizerSettings(vocab_size=283))
    assert caught.value.place == SOURCE
