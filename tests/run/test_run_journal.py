"""metrics.jsonl and samples.txt: nothing is written twice, and a torn line damages nothing else."""

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.run import journal

text = st.text(st.characters(codec="utf-8"), max_size=20)


def write(path: Path, steps: range) -> None:
    for step in steps:
        journal.append(path, journal.to_line({"step": step, "event": "train"}))


def steps(path: Path) -> list[int]:
    return [event["step"] for event in journal.events(path)]


def test_events_come_back_in_order(tmp_path: Path) -> None:
    write(tmp_path / "m", range(1, 8))
    assert steps(tmp_path / "m") == [1, 2, 3, 4, 5, 6, 7]


def test_a_file_that_is_not_there_has_no_events(tmp_path: Path) -> None:
    assert steps(tmp_path / "m") == []
    journal.truncate_events(tmp_path / "m", 3)
    journal.truncate_blocks(tmp_path / "m", 3)
    assert not (tmp_path / "m").exists()


@given(st.dictionaries(text, text | st.integers() | st.lists(text)))
def test_an_event_is_one_line_of_json(event: dict[str, object]) -> None:
    line = journal.to_line(event)
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert json.loads(line).keys() == {*event, "crc32"}
    assert json.loads(line) == event | {"crc32": json.loads(line)["crc32"]}


def test_numbers_that_json_lacks_become_null() -> None:
    line = journal.to_line({"loss": float("nan"), "more": {"a": [float("inf"), 1.5]}})
    assert json.loads(line) == {"loss": None, "more": {"a": [None, 1.5]}, "crc32": json.loads(line)["crc32"]}
    assert "NaN" not in line


def test_later_events_are_forgotten_and_earlier_ones_stay_as_they_were(tmp_path: Path) -> None:
    write(tmp_path / "m", range(1, 8))
    before = (tmp_path / "m").read_bytes()
    journal.truncate_events(tmp_path / "m", 5)
    assert steps(tmp_path / "m") == [1, 2, 3, 4, 5]
    assert before.startswith((tmp_path / "m").read_bytes())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 200))
def test_a_file_torn_anywhere_loses_only_what_was_torn(tmp_path: Path, length: int) -> None:
    path = tmp_path / "m"
    path.unlink(missing_ok=True)
    write(path, range(1, 8))
    content = path.read_bytes()[:length]
    path.write_bytes(content)
    whole = content.count(b"\n")
    assert steps(path) == list(range(1, whole + 1))
    journal.truncate_events(path, 7)
    assert all(json.loads(line) for line in path.read_text().split("\n") if line)
    journal.append(path, journal.to_line({"step": 11}))
    assert steps(path) == [*range(1, whole + 1), 11]


def test_the_removal_of_a_torn_last_line_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "m"
    write(path, range(1, 4))
    path.write_bytes(path.read_bytes()[:-2])
    assert steps(path) == [1, 2]
    assert not caplog.messages  # a training may be writing the line at this moment
    journal.truncate_events(path, 7)
    assert caplog.messages == [f"{path}: the last line, cut off when the training was, is removed"]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("offset", range(0, 50, 7))
@pytest.mark.parametrize("bit", [0, 1, 6])
def test_a_flipped_bit_in_a_line_is_reported_with_its_number_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, offset: int, bit: int
) -> None:
    path = tmp_path / "m"
    write(path, range(1, 8))
    lines = path.read_bytes().split(b"\n")
    lines[4] = lines[4][:offset] + bytes([lines[4][offset] ^ 1 << bit]) + lines[4][offset + 1 :]
    path.write_bytes(b"\n".join(lines))
    assert steps(path) == [1, 2, 3, 4, 6, 7]
    assert steps(path) == [1, 2, 3, 4, 6, 7]
    (said,) = caplog.messages  # once
    assert f"{path}:5: " in said
    assert "altered" in said
    journal.truncate_events(path, 6)
    assert path.read_bytes() == b"\n".join(lines[:6]) + b"\n"


def test_lines_without_a_checksum_are_read_until_the_first_that_has_one(tmp_path: Path) -> None:
    old = '{"step": 1}\n{"step": 2}\n'
    (tmp_path / "m").write_text(old)
    write(tmp_path / "m", range(3, 6))
    with (tmp_path / "m").open("a") as file:
        file.write('{"step": 6}\n')
    assert steps(tmp_path / "m") == [1, 2, 3, 4, 5]
    assert [event["step"] for event in journal.events(tmp_path / "m", summed=True)] == [3, 4, 5]


def test_checksums_are_added_to_sound_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text('{"step": 1}\n{"step": 2\n{"step": 3}\n')
    journal.add_sums(path)
    assert [event["step"] for event in journal.events(path, summed=True)] == [1, 3]
    assert path.read_text().split("\n")[1] == '{"step": 2'
    once = path.read_bytes()
    journal.add_sums(path)
    assert path.read_bytes() == once


@pytest.mark.parametrize(
    "line",
    [
        *("nonsense", "[1]", "7", '{"step": "7"}', '{"step": nul', "[" * 100_000),
        *('{"event": "end", "step": 7}', '{"event": "end", "step": 7, "weights": "best", "metrics": [1]}'),
        '{"event": "end", "weights": "best", "metrics": {}}',
    ],
)
def test_a_line_that_is_no_event_is_passed_over(tmp_path: Path, line: str) -> None:
    (tmp_path / "m").write_text('{"step": 2}\n' + line + '\n{"step": 3}\n')
    assert steps(tmp_path / "m") == [2, 3]


def test_samples_of_later_steps_are_forgotten(tmp_path: Path) -> None:
    for step in (100, 200, 300):
        journal.append(tmp_path / "s", journal.to_block(step, f"source {step}\ntarget {step}"))
    journal.truncate_blocks(tmp_path / "s", 200)
    assert (tmp_path / "s").read_text() == (
        "# step 100\n  source 100\n  target 100\n\n# step 200\n  source 200\n  target 200\n\n"
    )


def test_a_sample_that_looks_like_a_heading_is_none(tmp_path: Path) -> None:
    journal.append(tmp_path / "s", journal.to_block(100, "# step 900\nafter"))
    journal.truncate_blocks(tmp_path / "s", 100)
    assert "after" in (tmp_path / "s").read_text()


@pytest.mark.parametrize("number", ["9" * 5000, "٣", "-1", ""])
def test_a_heading_without_a_number_to_count_with_is_none(tmp_path: Path, number: str) -> None:
    path = tmp_path / "s"
    path.write_text(f"# step 1\n  a\n# step {number}\n  b\n", encoding="utf-8")
    assert [step for step, _ in journal.blocks(path)] == [1]


def test_odd_separators_in_a_sample_do_not_end_its_line() -> None:
    assert journal.to_block(5, "a\u2028# step 9\x85b") == "# step 5\n  a\u2028# step 9\x85b\n\n"


def test_a_full_disk_takes_a_half_written_line_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "m", range(1, 4))

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        write(tmp_path / "m", range(4, 5))
    assert (tmp_path / "m").read_bytes().count(b"\n") == 3


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "update", "loss": 1.0}',
        '{"event": "update", "step": true, "loss": 1.0}',
        '{"event": "update", "step": -1}',
        '{"event": "update", "step": 1e3}',
        '{"event": "validation", "step": 99999999999999999999}',
        '{"event": "update", "step": 7, "loss": "low"}',
        '{"event": "update", "step": 7, "seconds": [1]}',
        '{"event": "update", "step": 7, "tokens": 99999999999999999999}',
    ],
)
def test_what_nobody_counts_with_is_no_event(tmp_path: Path, line: str) -> None:
    (tmp_path / "m").write_text(line + '\n{"event": "update", "step": 7, "loss": null, "rate": 1}\n')
    assert steps(tmp_path / "m") == [7]
