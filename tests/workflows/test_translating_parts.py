"""A file translated in parts, by workers that are killed, is that of one worker: byte for byte."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from multihead.apps.documents import translating_parts
from multihead.apps.documents.text_blocks import find_blocks
from multihead.apps.documents.translating_parts import MANIFEST, SharedTranslation
from multihead.errors import UserError
from multihead.system.disk import MAX_BYTES
from multihead.system.part import parse_part
from multihead.text.lines import read_lines

BLOCK = 7
FACTS = {"model": ["a"], "search": {"beam_size": 3}}
FORK = multiprocessing.get_context("fork")


def numbered(lines: list[str], first: int) -> list[str]:
    """Translate lines to capitals with their number, two output lines for some."""
    return [f"{n} {line.upper()}" for n, line in enumerate(lines, first) for _ in range(1 + n % 5 // 4)]


def plain(path: Path) -> bytes:
    return "".join(f"{line}\n" for line in numbered(list(read_lines(str(path))), 0)).encode()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of 102 lines, the last without a line end: 15 blocks, the last of 4 lines."""
    path = tmp_path / "source.txt"
    lines = [f"zeile {n} \u2028\r" if n % 3 else "" for n in range(102)]
    path.write_bytes(("\ufeff" + "\n".join(lines)).encode())
    return path


def parts_of(source: Path, facts: dict[str, object] | None = None) -> SharedTranslation:
    return SharedTranslation(source.with_name("out"), source, "utf-8", facts or FACTS, block=BLOCK)


def translate(source: Path, i: int, n: int, function: translating_parts.Translate = numbered) -> list[int]:
    done: list[int] = []
    parts_of(source).part(i, n, function, lambda number, total: done.append(number))
    return done


def joined(source: Path) -> bytes:
    return b"".join(parts_of(source).join())


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"a", b"a\nb\n", b"a\n" * 7, b"a\n" * 14, b"a\n" * 15 + b"b"]
)
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_blocks_hold_the_lines_of_the_file(
    tmp_path: Path, content: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multihead.apps.documents.text_blocks.CHUNK", chunk)
    path = tmp_path / "some.txt"
    path.write_bytes(content)
    blocks = find_blocks(path, BLOCK)
    lines = list(read_lines(str(path)))
    assert blocks.lines == len(lines)
    found = [blocks.read(path, number, "utf-8") for number in range(len(blocks))]
    assert [line for block in found for line in block] == lines
    assert [len(block) for block in found] == [blocks.size(number) for number in range(len(blocks))]
    assert all(len(block) == BLOCK for block in found[:-1])


def test_parts_in_any_order_give_the_plain_translation(source: Path) -> None:
    done = [translate(source, i, 4) for i in (3, 1, 4, 2)]
    assert sorted(number for part in done for number in part) == list(range(15))
    assert joined(source) == plain(source)


def test_a_part_resumes_after_its_last_whole_block(source: Path) -> None:
    class StopError(Exception):
        pass

    def stopping(lines: list[str], first: int) -> list[str]:
        if first >= 3 * BLOCK:
            raise StopError
        return numbered(lines, first)

    with pytest.raises(StopError):
        translate(source, 1, 1, stopping)
    again: list[int] = []

    def noting(lines: list[str], first: int) -> list[str]:
        again.append(first)
        return numbered(lines, first)

    translate(source, 1, 1, noting)
    assert again == [number * BLOCK for number in range(3, 15)]
    assert joined(source) == plain(source)


def test_workers_killed_at_random_moments_lose_and_double_nothing(source: Path) -> None:
    chance = random.Random(3)
    parts_of(source)

    def slowly(lines: list[str], first: int) -> list[str]:
        time.sleep(0.004)
        return numbered(lines, first)

    for round_ in range(6):
        workers = [FORK.Process(target=translate, args=(source, i, 2, slowly)) for i in (1, 2)]
        for worker in workers:
            worker.start()
        for worker in workers if round_ < 5 else ():
            time.sleep(chance.uniform(0, 0.02))
            os.kill(worker.pid or 0, signal.SIGKILL)
        for worker in workers:
            worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert joined(source) == plain(source)
    left = {path.suffix for path in source.with_name("out").glob("block*")}
    assert left <= {".txt", ".json", ".partial", ".lock"}


def test_two_workers_never_translate_one_block_twice(source: Path) -> None:
    counts = source.with_name("counts")

    def counting(lines: list[str], first: int) -> list[str]:
        with counts.open("a") as file:
            file.write(f"{first}\n")
        time.sleep(0.002)
        return numbered(lines, first)

    workers = [FORK.Process(target=translate, args=(source, 1, 1, counting)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert sorted(map(int, counts.read_text().split())) == [number * BLOCK for number in range(15)]
    assert joined(source) == plain(source)


def test_a_block_cut_or_altered_afterwards_is_translated_again(
    source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    translate(source, 1, 1)
    parts = parts_of(source)
    parts.file(2).write_bytes(parts.file(2).read_bytes()[:-9])
    parts.file(5).unlink()
    parts.file(6).with_suffix(".json").write_text("{")
    with pytest.raises(UserError, match=r"3 of 15 blocks are missing \(2, 5, 6\)"):
        joined(source)
    assert f"{parts.file(2)}: cut or altered; this block is translated again" in caplog.text
    translate(source, 1, 1)
    assert joined(source) == plain(source)


def _longer(source: Path) -> None:
    source.write_bytes(source.read_bytes() + b"\nnoch eine")


def _altered(source: Path) -> None:
    source.write_bytes(source.read_bytes().replace(b"zeile 50", b"zeile 05"))


def _other_format(source: Path) -> None:
    place = source.with_name("out") / MANIFEST
    place.write_text(json.dumps({**json.loads(place.read_text()), "format": 2}))


def _cut(source: Path) -> None:
    place = source.with_name("out") / MANIFEST
    place.write_text(place.read_text()[:50])


def _unordered(source: Path) -> None:
    place = source.with_name("out") / MANIFEST
    saved = json.loads(place.read_text())
    saved["input"]["starts"].reverse()
    place.write_text(json.dumps(saved))


def _without_manifest(source: Path) -> None:
    (source.with_name("out") / MANIFEST).unlink()


@pytest.mark.parametrize(
    ("damage", "fact"),
    [
        (_longer, "holds the translation of another file"),
        (_altered, "it has changed since the translation began"),
        (_other_format, "another version"),
        (_cut, "damaged"),
        (_unordered, "damaged: not the blocks of a file"),
        (_without_manifest, "no parts.json beside its blocks"),
    ],
)
def test_another_input_or_a_damaged_manifest_is_refused(
    source: Path, damage: Callable[[Path], None], fact: str
) -> None:
    translate(source, 1, 2)
    damage(source)
    with pytest.raises(UserError, match=fact):
        translate(source, 2, 2)


def test_other_settings_are_refused_by_name(source: Path) -> None:
    translate(source, 1, 2)
    with pytest.raises(UserError, match=r"began with another model \(\['a'\], now \['b'\]\)"):
        parts_of(source, {**FACTS, "model": ["b"]})


def test_a_compressed_file_has_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "source.txt"
    path.write_bytes(b"\x1f\x8b\x08whatever")
    with pytest.raises(UserError, match="a compressed file has no parts"):
        parts_of(path)


def test_a_line_that_is_not_text_is_named_by_its_number_in_the_file(source: Path) -> None:
    lines = source.read_bytes().split(b"\n")
    lines[22] = b"\xe4"
    source.write_bytes(b"\n".join(lines))
    with pytest.raises(UserError, match=r"source\.txt:23: not UTF-8 \(byte 0xE4 at column 1\)"):
        translate(source, 1, 1)


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "-1/4", "1", "a/b", "1/4/4", "", "1.5/4", "²/4"])
def test_a_part_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="there is no such part"):
        parse_part(text)


def test_the_last_part_exists() -> None:
    assert parse_part("4/4") == (4, 4)


def test_blocks_of_very_long_lines_are_kept_and_joined(source: Path) -> None:
    made: list[int] = []

    def long(lines: list[str], first: int) -> list[str]:
        made.append(first)
        return ["x" * (MAX_BYTES // BLOCK + 11) for _ in lines]

    parts = SharedTranslation(source.with_name("out"), source, "utf-8", FACTS, block=BLOCK)
    assert parts.translate(0, long)
    assert parts.done(0)
    assert parts.translate(0, long)
    assert made == [0]
    assert parts.file(0).stat().st_size > MAX_BYTES
    for number in range(1, len(parts.blocks)):
        parts.translate(number, numbered)
    content = b"".join(parts.join())
    assert content.startswith(b"x" * (MAX_BYTES // BLOCK + 11) + b"\nx")
    assert len(content) > MAX_BYTES
