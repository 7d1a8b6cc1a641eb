"""Reading corpora, good and bad."""

import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.settings import DataSettings
from multihead.text import lines
from multihead.text.alignment import first_suspicious_line
from multihead.text.corpus import read_lines, read_pairs
from multihead.text.lines import file_kind

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def write(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def pairs(folder: Path, source: str, target: str = "", **data: str) -> list[tuple[str, str]]:
    targets = [target] if target else []
    return list(read_pairs(DataSettings.model_validate({"dir": str(folder), **data}), [source], targets))


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
def test_lines_end_with_line_feeds_alone(tmp_path: Path, suffix: str) -> None:
    content = "\ufeffeins\r\nzw\u2028ei\u0085\x0b\x0c\x1c\rdrei\n\nvier".encode()
    path = write(tmp_path, f"a.txt{suffix}", COMPRESS.get(suffix, bytes)(content))
    assert list(read_lines(path)) == ["eins", "zw\u2028ei\u0085\x0b\x0c\x1c\rdrei", "", "vier"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compression_is_told_by_content_not_by_name(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, "a.txt", COMPRESS[suffix](b"eins\nzwei\n"))
    assert list(read_lines(path)) == ["eins", "zwei"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_concatenated_archives_are_read_to_the_end(tmp_path: Path, suffix: str) -> None:
    packed = COMPRESS[suffix](b"eins\n") + COMPRESS[suffix](b"zwei\n" * 100_003)
    assert sum(1 for _ in read_lines(write(tmp_path, f"a{suffix}", packed))) == 100_004


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_cut_archive_is_refused(tmp_path: Path, suffix: str, kept: float) -> None:
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
    with pytest.raises(UserError, match=r"a\.gz: not a \.gz file in spite of its name"):
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
    with pytest.raises(UserError, match=r"train\.de:2: not UTF-8 \(byte 0xE4 at column 2\).*latin-1"):
        list(read_lines(path))
    assert list(read_lines(path, "latin-1")) == ["gut", "Männer"]


def test_a_cut_character_at_a_line_end_is_refused(tmp_path: Path) -> None:
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
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 20)
    with pytest.raises(UserError, match=r"a:2: a line of more than 1 MiB"):
        list(read_lines(write(tmp_path, "a", "kurz\n" + "x" * (1 << 21))))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r\ufeff"))))
def test_what_is_written_by_line_feeds_is_read(tmp_path: Path, wanted: list[str]) -> None:
    path = write(tmp_path, "a", "".join(line + "\n" for line in wanted))
    assert list(read_lines(path)) == wanted


@pytest.mark.parametrize(
    ("name", "kind"), [("a/b.TSV.GZ", ".tsv"), ("a.jsonl", ".jsonl"), ("train.de", ".de"), ("a.gz", "")]
)
def test_the_kind_of_a_file_is_its_extension_without_compression(name: str, kind: str) -> None:
    assert file_kind(name) == kind


def test_moses_files_are_paired_and_chained(tmp_path: Path) -> None:
    for name, content in {
        "a.de": "eins\nzwei\n",
        "a.en": "one\ntwo",
        "b.de": "drei",
        "b.en": "three\n",
    }.items():
        write(tmp_path, name, content)
    found = read_pairs(
        DataSettings.model_validate({"dir": str(tmp_path)}), ["a.de", "b.de"], ["a.en", "b.en"]
    )
    assert list(found) == [("eins", "one"), ("zwei", "two"), ("drei", "three")]


def test_files_of_different_length_are_refused_with_both_counts(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "eins\nzwei\ndrei\n")
    write(tmp_path, "a.en", "one\ntwo\nthree\nfour\nfive\n")
    for source, target, counts in (
        ("a.de", "a.en", "3 lines.*a.en has 5"),
        ("a.en", "a.de", "5 lines.*a.de has 3"),
    ):
        with pytest.raises(UserError, match=counts):
            pairs(tmp_path, source, target)


@pytest.mark.parametrize("lost", [1, 13])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_line_where_files_part_is_found(tmp_path: Path, lost: int, swapped: bool) -> None:
    source = [5 + 31 * (number * 17 % 7) for number in range(101)]
    target = [length + number % 3 for number, length in enumerate(source)]
    del target[53 : 53 + lost]
    line = first_suspicious_line(target, source) if swapped else first_suspicious_line(source, target)
    assert line == 54


def test_a_file_that_ends_early_is_suspected_at_its_end() -> None:
    source = [5 + 31 * (number * 17 % 7) for number in range(101)]
    assert first_suspicious_line(source, source[:83]) == 84


def test_an_additional_empty_line_is_suspected() -> None:
    source = [5 + 31 * (number * 17 % 7) for number in range(101)]
    assert first_suspicious_line(source, [*source[:29], 0, *source[29:]]) == 30


@pytest.mark.parametrize("empty", ["source", "target", "both"])
def test_an_empty_file_is_refused_by_name(tmp_path: Path, empty: str) -> None:
    write(tmp_path, "a.de", "" if empty != "target" else "eins\n")
    write(tmp_path, "a.en", "" if empty != "source" else "one\n")
    name = "a.en" if empty == "target" else "a.de"
    with pytest.raises(UserError, match=f"{name}: the file is empty"):
        pairs(tmp_path, "a.de", "a.en")
    with pytest.raises(UserError, match=r"b\.tsv: the file is empty"):
        pairs(tmp_path, Path(write(tmp_path, "b.tsv", "")).name)


def test_odd_separators_keep_the_alignment(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "ei\u2028ns\nzw\u0085ei\ndr\rei\r\n")
    write(tmp_path, "a.en", "one\ntwo\nthree\n")
    found = [("ei\u2028ns", "one"), ("zw\u0085ei", "two"), ("dr\rei", "three")]
    assert pairs(tmp_path, "a.de", "a.en") == found


def test_tsv_knows_no_quotes_and_counts_columns_from_one(tmp_path: Path) -> None:
    write(tmp_path, "a.tsv", '7\t"one\t\'eins"\n8\ttwo\tzwei\r\n\n')
    assert pairs(tmp_path, "a.tsv") == [("7", '"one'), ("8", "two"), ("", "")]
    swapped = pairs(tmp_path, "a.tsv", source_field="3", target_field="2")
    assert swapped == [("'eins\"", '"one'), ("zwei", "two"), ("", "")]


def test_a_tsv_line_with_too_few_columns_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.tsv", "a\tb\nc\n")
    with pytest.raises(UserError, match=r"a\.tsv:2: column 2 wanted, but there are 1"):
        pairs(tmp_path, "a.tsv")


@pytest.mark.parametrize("field", ["0", "-1", "en", "²", "1.5"])
def test_a_tsv_column_must_be_a_number_from_one(tmp_path: Path, field: str) -> None:
    write(tmp_path, "a.tsv", "a\tb\n")
    with pytest.raises(UserError, match=r"data\.target_field: .* is no column"):
        pairs(tmp_path, "a.tsv", target_field=field)


def test_jsonl_is_read_by_keys_onto_one_line(tmp_path: Path) -> None:
    rows = [{"source": "ei\nns", "target": "one\u2028", "n": 1}, {"source": "", "target": "\ud83d\ude00"}]
    write(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert pairs(tmp_path, "a.jsonl") == [("ei ns", "one\u2028"), ("", "😀")]
    write(tmp_path, "b.jsonl.x", json.dumps({"de": "eins", "en": "one"}))
    found = pairs(tmp_path, "b.jsonl.x", format="jsonl", source_field="en", target_field="de")
    assert found == [("one", "eins")]


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("{", "not JSON"),
        ("[" * 100_003, "not JSON"),
        ("9" * 10_007, "not JSON"),
        ("[1]", "no JSON object"),
        ('{"target": "a"}', r"no key 'source'. .*\(keys here: 'target'\)"),
        ('{"source": 7, "target": "a"}', "'source' is not text but 7"),
        ('{"source": "a", "target": null}', "'target' is not text but null"),
        ('{"source": "a\\u0000", "target": "b"}', "NUL"),
        ('{"source": "a", "target": "\\ud800"}', "surrogate"),
    ],
)
def test_bad_jsonl_is_refused_with_its_line(tmp_path: Path, line: str, fact: str) -> None:
    write(tmp_path, "a.jsonl", '{"source": "a", "target": "b"}\n' + line)
    with pytest.raises(UserError, match=r"a\.jsonl:2: .*" + fact):
        pairs(tmp_path, "a.jsonl")


def test_files_must_be_named_so_that_both_sides_are_known(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "eins\n")
    write(tmp_path, "a.tsv", "a\tb\n")
    data = DataSettings.model_validate({"dir": str(tmp_path)})
    with pytest.raises(UserError, match=r"a\.de: one side only"):
        list(read_pairs(data, ["a.de"], []))
    with pytest.raises(UserError, match="2 source files but 1 target files"):
        list(read_pairs(data, ["a.de", "a.de"], ["a.de"]))
    with pytest.raises(UserError, match="holds both sides by itself"):
        list(read_pairs(data, ["a.tsv"], ["a.tsv"]))
    with pytest.raises(UserError, match="standard input named twice"):
        list(read_pairs(data, ["-"], ["-"]))


def test_standard_input_may_be_one_side_or_hold_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.en", "one\ntwo\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"eins\nzwei\n")))
    assert pairs(tmp_path, "-", "a.en") == [("eins", "one"), ("zwei", "two")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"eins\tone\n")))
    assert pairs(tmp_path, "-", format="tsv") == [("eins", "one")]
