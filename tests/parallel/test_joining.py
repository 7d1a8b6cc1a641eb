"""Processes that do not come, do not fit together or end before the others: one clear error."""

import socket
from pathlib import Path

import failing_ranks
import pytest
import torch
from ranks import Ranks, free_port

import multihead
from multihead.cli import main
from multihead.errors import UserError
from multihead.system import parallel, rendezvous
from multihead.workflows import same_start

MODULE = Path(failing_ranks.__file__)


def test_a_process_whose_peer_is_killed_ends_with_one_line() -> None:
    ranks = Ranks(MODULE, "one_dies", 2)
    assert ranks.results() == [1, -9]
    assert ranks.errors[0].count("\n") == 1
    assert "process 0 of 2 has lost another one" in ranks.errors[0]


def test_a_mistake_found_by_one_process_is_printed_once() -> None:
    ranks = Ranks(MODULE, "one_is_refused", 2)
    assert ranks.results() == [2, 2], ranks.errors
    assert ranks.errors == ["", "train.de: the corpus is missing\n"]


def test_the_first_process_stays_until_the_last_word_is_read() -> None:
    ranks = Ranks(MODULE, "one_is_late", 2)
    assert ranks.results() == [7, 7], ranks.errors


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The variables of process 0 of 3, whose peers never come."""
    given = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(rendezvous.JOIN_SECONDS, "0.3")
    return monkeypatch


def refusal() -> str:
    with pytest.raises(UserError) as refused, parallel.begin():
        pass
    assert (parallel.world(), parallel.rank()) == (1, 0)
    return str(refused.value)


@pytest.mark.usefixtures("launched")
def test_processes_that_never_come_are_named() -> None:
    assert refusal().startswith("processes 1, 2 of 3 have not come within 0.3 s")


def test_a_first_process_that_never_comes_is_named(launched: pytest.MonkeyPatch) -> None:
    launched.setenv("RANK", "1")
    assert "process 0 does not answer within 0.3 s" in refusal()


def test_a_port_in_use_is_named(launched: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = other.getsockname()[1]
        launched.setenv("MASTER_PORT", str(port))
        assert f"port {port} is in use" in refusal()


@pytest.mark.parametrize(
    ("name", "value", "fact"),
    [
        ("RANK", "3", "RANK is 3, but WORLD_SIZE is 3"),
        ("RANK", "-1", "RANK is '-1'"),
        ("WORLD_SIZE", "many", "WORLD_SIZE is 'many'"),
        ("MASTER_PORT", "", "MASTER_PORT is ''"),
        ("MASTER_ADDR", "", "MASTER_ADDR is not set"),
    ],
)
def test_invalid_variables_are_named(launched: pytest.MonkeyPatch, name: str, value: str, fact: str) -> None:
    launched.setenv(name, value)
    assert refusal().startswith(fact)


def test_one_process_alone_joins_nobody() -> None:
    with parallel.begin():
        assert parallel.world() == 1
        assert parallel.first()
        assert parallel.gather_numbers([3.0]) == [[3.0]]
        assert parallel.from_first(lambda: "own") == parallel.in_turn(lambda: "own") == "own"


def test_the_command_of_a_survivor_may_be_started_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, of an error that the user has to correct, would end the training for good."""

    def lose(_: object) -> int:
        raise rendezvous.LostPeerError("process 0 of 2 has lost another one")

    monkeypatch.setattr("multihead.cli._dispatch", lose)
    assert main(["train"]) == 1
    assert "has lost another one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("processes", "gpus", "carrier"),
    [
        (1, 1, "cpu:gloo,cuda:nccl"),
        (4, 4, "cpu:gloo,cuda:nccl"),
        (2, 1, "cpu:gloo,cuda:gloo"),
        (2, 0, "gloo"),
    ],
)
def test_processes_that_share_a_gpu_do_not_use_nccl(
    monkeypatch: pytest.MonkeyPatch, processes: int, gpus: int, carrier: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
    assert rendezvous._backend() == carrier


def test_the_hash_of_the_source_covers_every_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(multihead.__file__).parent == same_start.PACKAGE
    (tmp_path / "nn").mkdir()
    layer = tmp_path / "nn" / "layers.py"
    monkeypatch.setattr(same_start, "PACKAGE", tmp_path)
    hashes = []
    for content in ("x = 1", "x = 2"):
        layer.write_text(content)
        hashes.append(same_start.source_hash.__wrapped__())
    assert hashes[0] != hashes[1]
