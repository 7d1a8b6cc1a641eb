"""Reading the lines of files, valid and broken."""

import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.text import lines
from multihead.text.corpus import read_lines

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def write(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
def test_lines_end_with_line_feeds_alone(tmp_path: Path, suffix: str) -> None:
    content = "\ufeffeins\r\nzw\u2028ei\u0085\x0b\x0c\x1c\rdrei\n\nvier".encode()
    path = write(tmp_path, f"a.txt{suffix}", COMPRESS.get(suffix, bytes)(content))
    assert list(read_lines(path)) == ["eins", "zw\u2028ei\u0085\x0b\x0c\x1c\rdrei", "", "vier"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compression_is_detected_by_content_not_by_name(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, "a.txt", COMPRESS[suffix](b"eins\nzwei\n"))
    assert list(read_lines(path)) == ["eins", "zwei"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_concatenated_archives_are_read_to_the_end(tmp_path: Path, suffix: str) -> None:
    packed = COMPRESS[suffix](b"eins\n") + COMPRESS[suffix](b"zwei\n" * 100_003)
    assert sum(1 for _ in read_lines(write(tmp_path, f"a{suffix}", packed))) == 100_004


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_truncated_archive_is_refused(tmp_path: Path, suffix: str, kept: float) -> None:
    packed = COMPRESS[suffix]("\n".join(map(str, range(100_003))).encode())
    path = write(tmp_path, f"a{suffix}", packed[: int(len(packed) * kept)])
    with pytest.raises(UserError, match=r"a\.(gz|xz|zst):\d+: the compressed file is damaged"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_corrupt_archive_is_refused(tmp_path: Path, suffix: str) -> None:
    packed = bytearray(COMPRESS[suffix]("\n".join(map(str, range(100_003))).encode()))
    packed[40:90] = bytes(50)
    with pytest.raises(UserError, match="damaged"):
        list(read_lines(write(tmp_path, f"a{suffix}", bytes(packed))))


def test_an_archive_only_by_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a\.gz: not a \.gz file, despite its name"):
        list(read_lines(write(tmp_path, "a.gz", "eins\n")))


def test_an_empty_file_has_no_lines_and_a_line_feed_is_one_empty_line(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path, "a", ""))) == []
    assert list(read_lines(write(tmp_path, "b", "\n"))) == [""]
    assert list(read_lines(write(tmp_path, "c.gz", ""))) == []


def test_standard_input_is_read_compressed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b"eins\nzwei", gzip.compress(b"eins\nzwei\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert list(read_lines("-")) == ["eins", "zwei"]


def test_invalid_bytes_are_refused_with_line_column_and_byte(tmp_path: Path) -> None:
    path = write(tmp_path, "train.de", b"gut\nM\xe4nner\n")
    with pytest.raises(
        UserError, match=r'train\.de:2: not UTF-8 \(byte 0xE4 at column 2\).*cp1252, if "Männer"'
    ):
        list(read_lines(path))
    assert list(read_lines(path, "latin-1")) == ["gut", "Männer"]


def test_a_truncated_character_at_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r":1: not UTF-8 \(byte 0xED"):
        list(read_lines(write(tmp_path, "a", "한".encode()[:2] + b"\n")))


def test_surrogates_written_as_utf8_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=":1: not UTF-8"):
        list(read_lines(write(tmp_path, "a", "\ud800".encode("utf-8", "surrogatepass"))))


def test_other_encodings_are_read(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path, "a", "안녕\n하세요\n".encode("euc-kr")), "euc-kr")) == [
        "안녕",
        "하세요",
    ]


@pytest.mark.parametrize("name", ["utf-88", "hex", "", "a\0b"])
def test_an_unknown_encoding_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="unknown text encoding"):
        list(read_lines(write(tmp_path, "a", "a"), name))


@pytest.mark.parametrize("name", ["utf-16", "utf-32-le", "cp037"])
def test_an_encoding_without_plain_line_feeds_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be read line by line"):
        list(read_lines(write(tmp_path, "a", "a"), name))


def test_nul_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a:3: a NUL byte"):
        list(read_lines(write(tmp_path, "a", b"a\nb\nc\0d\n")))


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"train\.de: no such file"):
        list(read_lines(str(tmp_path / "train.de")))
    write(tmp_path, "train.de.xz", "")
    with pytest.raises(UserError, match=r"no such file. There is .*train\.de\.xz"):
        list(read_lines(str(tmp_path / "train.de")))
    with pytest.raises(UserError, match="is a directory"):
        list(read_lines(str(tmp_path)))
    with pytest.raises(UserError, match="cannot be read"):
        list(read_lines(str(tmp_path / "train.de.xz" / "inside")))


def test_a_line_of_a_megabyte_is_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a", "x" * 1_000_003 + "\nkurz\n")
    assert [len(line) for line in read_lines(path)] == [1_000_003, 4]


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1 << 20)
    with pytest.raises(UserError, match=r"a:2: a line of more than 1 MiB"):
        list(read_lines(write(tmp_path, "a", "kurz\n" + "x" * (1 << 21))))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r\ufeff"))))
def test_what_is_written_by_line_feeds_is_read(tmp_path: Path, wanted: list[str]) -> None:
    path = write(tmp_path, "a", "".join(line + "\n" for line in wanted))
    assert list(read_lines(path)) == wanted


def test_a_decompression_bomb_expands_a_little_at_a_time() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(2**28))
    reader = lines._Zstandard(io.BytesIO(bomb))
    assert reader.readinto(bytearray(10)) == 10
    assert len(reader._ready) < 2**26
