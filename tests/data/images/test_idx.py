"""IDX files, valid and damaged."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from multihead.data.images.idx import read_idx
from multihead.errors import UserError

N, HEIGHT, WIDTH = 3, 5, 7
VALUES = np.arange(N * HEIGHT * WIDTH, dtype=np.uint8).reshape(N, HEIGHT, WIDTH)


def packed(values: np.ndarray, magic: int = 0x0803) -> bytes:
    return struct.pack(f">I{values.ndim}I", magic, *values.shape) + values.tobytes()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_idx_file_is_read_compressed_or_not(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    file = tmp_path / "train-images-idx3-ubyte"
    file.write_bytes(pack(packed(VALUES)))
    assert np.array_equal(read_idx(file), VALUES)


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (packed(VALUES, magic=0x0D03), "an IDX file of an unsupported type (magic number 0x00000d03)"),
        (packed(VALUES, magic=0x12340803), "not an IDX file (magic number 0x12340803)"),
        (b"\0\0\x08", "not an IDX file (magic number 0x000008)"),
        (b"", "not an IDX file"),
        (packed(VALUES)[:9], "the header is truncated"),
        (packed(VALUES)[:-1], "the header declares 105 values (3 x 5 x 7), but there are 104"),
        (packed(VALUES) + b"\0", "the header declares 105 values (3 x 5 x 7), but there are more"),
        (gzip.compress(packed(VALUES))[:-20], "the compressed file is damaged or truncated"),
        (gzip.compress(packed(VALUES)[:-1]), "but there are 104"),
    ],
)
def test_a_damaged_idx_file_is_refused(tmp_path: Path, content: bytes, fact: str) -> None:
    file = tmp_path / "images.idx"
    file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_idx(file)
    assert fact in caught.value.fact
    assert caught.value.place == str(file)


def test_huge_sizes_declared_in_a_header_take_no_memory(tmp_path: Path) -> None:
    file = tmp_path / "images.idx"
    file.write_bytes(struct.pack(">4I", 0x0803, 0x7FFF, 0xFF, 0xFF) + b"short")
    with pytest.raises(UserError, match=r"the header declares .* but there are 5"):
        read_idx(file)
    file.write_bytes(struct.pack(">4I", 0x0803, 0xFFFFFFFF, 0xFFFF, 0xFFFF) + b"short")
    with pytest.raises(UserError, match=r"the header declares .* more than"):
        read_idx(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.idx: no such file"):
        read_idx(tmp_path / "none.idx")
