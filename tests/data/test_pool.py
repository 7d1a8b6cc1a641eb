"""Several processes prepare a corpus to the same bytes as one."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from multihead.data import building
from multihead.data.building import store_pairs
from multihead.data.pool import in_processes
from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.cleaning import CleaningReport
from multihead.text.training import train


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 29])
def test_results_come_in_the_order_of_the_items(processes: int, count: int) -> None:
    found = list(in_processes(lambda n: (n * n, os.getpid()), range(count), processes))
    assert [(item, square) for item, (square, _) in found] == [(n, n * n) for n in range(count)]
    here = {pid == os.getpid() for _, (_, pid) in found}
    assert here == ({processes == 1} if count else set())


def test_items_are_read_no_further_ahead_than_needed() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    results = in_processes(lambda n: n, items(), 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(read) < 20


def test_an_error_in_a_process_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_processes(lambda n: 1 // n, [2, 1, 0], 2))


def test_a_killed_process_is_an_error_not_a_hang() -> None:
    with pytest.raises(UserError, match="a process that prepared data was killed"):
        list(in_processes(lambda n: os.kill(os.getpid(), signal.SIGKILL), [1, 2, 3], 2))


def test_any_number_of_processes_writes_the_same_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "BLOCK", 7)
    pairs = [(f"das ist {n} " * (n % 5), f"this is {n} " * (n % 3)) for n in range(97)]
    tokenizer = train(
        [side for pair in pairs for side in pair], TokenizerSettings(kind="bpe", vocab_size=300)
    )
    found = {}
    for processes in (1, 2, 3):
        folder, report = tmp_path / str(processes), CleaningReport()
        kept = list(store_pairs(folder, enumerate(pairs, 1), (tokenizer, tokenizer), 9, report, processes))
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        found[processes] = kept, files, report.to_dict()
    assert 0 < len(found[1][0]) < len(pairs)
    assert found[1] == found[2] == found[3]
