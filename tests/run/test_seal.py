"""The seal: the SHA-256 of a file of tensors in its own header, and when it is not computed again."""

import hashlib
import os
import threading
from itertools import count
from pathlib import Path
from typing import BinaryIO
from unittest.mock import patch

import pytest
import torch

from multihead.errors import UserError
from multihead.run import embedded_checksum as seal
from multihead.run import tensors
from multihead.run.origin import Origin

ORIGIN = Origin("abc", ("def",))


def saved(path: Path, values: int = 35) -> Path:
    tensors.save(
        path, {"w": torch.arange(float(values)).view(5, -1), "b": torch.ones(3)}, {"step": 7}, ORIGIN
    )
    return path


def by_the_book(path: Path) -> str:
    content = path.read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    start = content.index(b"sha256:")
    assert start < length
    digest = hashlib.sha256(content[:start] + seal.OPEN.encode() + content[start + len(seal.OPEN) : length])
    for place in range(length, len(content), seal.PART):
        digest.update(hashlib.sha256(content[place : place + seal.PART]).digest())
    return f"sha256:{digest.hexdigest()}"


@pytest.mark.parametrize("part", [64, 101, 1 << 20])
def test_the_seal_is_the_one_of_the_definition(tmp_path: Path, part: int) -> None:
    with patch.object(seal, "PART", part):
        path = saved(tmp_path / "a", 1000)
        with tensors.reading(path) as content:
            assert content.seal == by_the_book(path)
            assert content.origin == ORIGIN


def test_a_part_longer_than_a_chunk_is_read_in_chunks(tmp_path: Path) -> None:
    with patch.object(seal, "CHUNK", 13), patch.object(seal, "PART", 101):
        path = saved(tmp_path / "a", 100)
        with tensors.reading(path) as content:
            assert content.seal == by_the_book(path)


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = saved(tmp_path / "a")
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(UserError), tensors.reading(path) as content:
            content.check(ORIGIN, path, sealed=True)


def test_the_blocks_error_gives_way_to_the_damage_that_caused_it(tmp_path: Path) -> None:
    path = saved(tmp_path / "a")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\xff")
    with pytest.raises(UserError, match="its SHA-256 is not the one"), tensors.reading(path):
        raise RuntimeError("shapes do not fit")
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match="shapes do not fit"), tensors.reading(path):
        raise RuntimeError("shapes do not fit")


def test_a_name_that_looks_like_a_seal_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="seal"):
        tensors.save(tmp_path / "a", {"w": torch.ones(3)}, {"note": seal.OPEN})
    assert not list(tmp_path.iterdir())


def test_a_file_is_hashed_once_a_process_until_it_changes(tmp_path: Path) -> None:
    path = saved(tmp_path / "a")
    hashed = 0
    hashing = seal.hashing

    def counted(file: BinaryIO, sealed: str) -> object:
        nonlocal hashed
        hashed += 1
        return hashing(file, sealed)

    with patch.object(seal, "hashing", counted), patch.object(seal.Checked, "SETTLED", 0):
        for _ in range(3):
            tensors.load(path)
        assert hashed == 1
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"\xff")
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns - 5))
        with pytest.raises(UserError, match="SHA-256"):
            tensors.load(path)
        seal.CHECKED.clear()
        path.write_bytes(content)
        tensors.load(path)
        assert hashed == 3


def test_a_file_that_was_written_just_now_is_hashed_each_time(tmp_path: Path) -> None:
    path = saved(tmp_path / "a")
    tensors.load(path)
    assert not seal.CHECKED.holds(seal.file_identity(path.stat()), by_the_book(path))


def test_a_file_that_is_replaced_while_it_is_read_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    path, ended = tmp_path / "a", threading.Event()

    def write() -> None:
        for step in count():
            if ended.is_set():
                break
            tensors.save(path, {"w": torch.full((97, 101), float(step))}, {"step": step})

    tensors.save(path, {"w": torch.zeros(97, 101)}, {"step": 0})
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(100):
            content, meta = tensors.load(path)
            assert torch.equal(content["w"], torch.full((97, 101), float(meta["step"])))
    finally:
        ended.set()
        writer.join()
    assert meta["step"] > 0
