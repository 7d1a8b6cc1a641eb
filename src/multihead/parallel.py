"""Several processes that train one model: joining, agreement, work of the first process alone.

The launcher (torchrun, ``multihead train --processes``, Slurm, Ray) sets RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT. Facts travel as JSON through torch's key-value store, tensors through ``torch.distributed``.
"""

import datetime
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from multihead.errors import UserError

JOIN_SECONDS = "MULTIHEAD_JOIN_SECONDS"
"""Environment variable: seconds to wait for all processes at the start (default 300)."""
FAILED = "multihead has failed"
"""Key of the store: set by the first process that ends with a ``UserError``."""
BAD_INPUT, LOST = 2, 1
"""Exit codes of a process whose peer reported an error to the user, and of one whose peer is gone."""
GRACE = 2.0
"""Seconds in which a peer that ended may have reported why."""
FAREWELL = 30.0
"""Seconds in which the other processes may still read what process 0 wrote last."""

Json = Any


class LostPeerError(UserError):
    """Another process has ended without a word; starting again resumes from the last saved state."""

    code = LOST


class _Group:
    """The processes of this training, as long as it is joined."""

    def __init__(self) -> None:
        self.rank, self.world = 0, 1
        self.root: Store | None = None
        self.store: Store | None = None
        self.turns = 0


_group = _Group()


def launched() -> bool:
    """Return True if a launcher started this process as one of several."""
    return os.environ.get("WORLD_SIZE", "1") not in ("", "1") and "RANK" in os.environ


def world() -> int:
    """Return the number of processes that train together; 1 outside :func:`begin`."""
    return _group.world


def rank() -> int:
    """Return this process's number, from 0."""
    return _group.rank


def first() -> bool:
    """Return True for the process that prepares data, writes, validates and prints."""
    return rank() == 0


@contextmanager
def begin() -> Iterator[None]:
    """Join the other processes inside the block. One process alone, or a joined one, does nothing.

    Of several processes that fail, one raises its ``UserError``; the others end with the same exit code.

    Raises:
        UserError: a process never comes; a port is in use; the launcher's variables are not valid.
        LostPeerError: another process ended without reporting an error.
    """
    if not launched() or _group.store is not None:
        yield
        return
    _join()
    patience = 0.0
    try:
        yield
        patience = FAREWELL
    except UserError as error:
        patience = GRACE
        if _announce(str(error)):
            raise
        raise SystemExit(BAD_INPUT) from error
    except RuntimeError as error:
        if not _is_lost(error):
            raise
        _end_with_peer(error)
    finally:
        _part(patience)
        with suppress(RuntimeError):  # left to the interpreter's end, its threads would abort the process
            dist.destroy_process_group()
        _group.__init__()  # type: ignore[misc]


def agree(numbers: list[float]) -> list[list[float]]:
    """Return every process's numbers, by rank; all give as many. Integers up to 2^53 are exact."""
    if world() == 1:
        return [numbers]
    own = torch.tensor(numbers, dtype=torch.float64)
    gathered = [torch.empty_like(own) for _ in range(world())]
    dist.all_gather(gathered, own)
    return [each.tolist() for each in gathered]


def from_first(work: Callable[[], Json]) -> Json:
    """Run ``work`` in the first process and return its result, made of JSON values, in all.

    The others wait as long as it takes.
    """
    return from_rank(0, work)


def from_rank(source: int, work: Callable[[], Json]) -> Json:
    """Run ``work`` in process ``source`` and return its result in all; see :func:`from_first`."""
    if world() == 1:
        return work()
    _group.turns += 1
    key = f"from/{_group.turns}"
    if rank() == source:
        _store().set(key, json.dumps(found := work()))
        return found
    _wait(key)
    return json.loads(_store().get(key))


def in_turn(work: Callable[[], Any]) -> Any:
    """Run ``work`` in the first process, then in one process of each machine, then in the others.

    What the first leaves in a cache, the others find there.
    """
    if world() == 1:
        return work()
    _group.turns += 1
    name = f"turn/{_group.turns}"
    local = int(os.environ.get("LOCAL_RANK", rank()))
    turn = 0 if first() else 1 if local == 0 else 2
    leaders = [int(row[0]) for row in agree([float(local == 0 or first())])]
    if turn >= 1:
        _wait(f"{name}/0")
    if turn == 2:
        for leader in (number for number, leads in enumerate(leaders) if leads):
            _wait(f"{name}/{leader}")
    result = work()
    _store().set(f"{name}/{rank()}", "done")
    return result


def share_tensors(
    tensors: Mapping[str, Tensor], keep: Callable[[str, Tensor], Tensor] = lambda name, tensor: tensor
) -> dict[str, Tensor]:
    """Return the first process's tensors in all processes; on the CPU in the others.

    Args:
        tensors: by name; those of the first process count.
        keep: returns what of a tensor to keep; one tensor at a time is whole in memory.
    """
    if world() == 1:
        return {name: keep(name, tensor) for name, tensor in tensors.items()}
    described = from_first(lambda: _described(tensors))
    shared: dict[str, Tensor] = {}
    for name, (dtype, shape) in described.items():
        if first():
            whole = tensors[name]
            sent = whole.detach().cpu().contiguous()
        else:
            sent = whole = torch.empty(shape, dtype=getattr(torch, dtype))
        dist.broadcast(sent, src=0)
        shared[name] = keep(name, whole)
    return shared


def send_to_first(source: int, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of process ``source`` in the first process, on the CPU; nothing in the others."""
    described = from_rank(source, lambda: _described(tensors))
    received: dict[str, Tensor] = {}
    for name, (dtype, shape) in described.items():
        if rank() == source:
            dist.send(tensors[name].detach().cpu().contiguous(), dst=0)
        elif first():
            received[name] = torch.empty(shape, dtype=getattr(torch, dtype))
            dist.recv(received[name], src=source)
    return received


def _described(tensors: Mapping[str, Tensor]) -> dict[str, Json]:
    return {name: [str(t.dtype).removeprefix("torch."), [*t.shape]] for name, t in tensors.items()}


def compare(facts: Mapping[str, Json], remedy: str) -> None:
    """Compare facts between the processes.

    Args:
        facts: values by the name that the error shall give them.
        remedy: of the error.

    Raises:
        UserError: a process differs from the first in one of them.
    """
    if world() == 1:
        return
    _group.turns += 1
    key = f"facts/{_group.turns}"
    _store().set(f"{key}/{rank()}", json.dumps(facts))
    found = []
    for number in range(world()):
        _wait(f"{key}/{number}")
        found.append(json.loads(_store().get(f"{key}/{number}")))
    for number, other in enumerate(found):
        for name in {**found[0], **other}:
            here, there = other.get(name), found[0].get(name)
            if here != there:
                fact = f"process {number} differs from process 0 in {name} ({here}, in process 0 {there})"
                raise UserError(fact, remedy=remedy)


# --- joining ------------------------------------------------------------------------------------------


def _join() -> None:
    number, count = _variable("RANK", 0), _variable("WORLD_SIZE", 1)
    if number >= count:
        raise UserError(f"RANK is {number}, but WORLD_SIZE is {count}", remedy="Ranks count from 0.")
    seconds = float(os.environ.get(JOIN_SECONDS, "300"))
    host, port = os.environ.get("MASTER_ADDR", ""), _variable("MASTER_PORT", 1)
    if not host:
        raise UserError("MASTER_ADDR is not set", remedy="Start the processes with torchrun.")
    # torchrun's own store outlives a restart, and would hand out the addresses of the processes before it.
    start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    root = _connect(host, port, serve=number == 0 and not agent, seconds=seconds)
    if agent and root.check([FAILED]):
        raise SystemExit(BAD_INPUT)  # torchrun starts again after an error that the user has to correct
    _group.root, _group.store = root, PrefixStore(f"multihead/{start}", root)
    _group.rank, _group.world = number, count
    try:
        _check_in(seconds)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
        dist.init_process_group(
            backend, store=PrefixStore("group", _group.store), rank=number, world_size=count
        )
        agree([0.0])  # one that ends while another still connects would abort it
    except BaseException:
        _group.__init__()  # type: ignore[misc]
        raise
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", number)) % torch.cuda.device_count())


def _variable(name: str, least: int) -> int:
    value = os.environ.get(name, "")
    if not value.isdecimal() or int(value) < least:
        raise UserError(
            f"{name} is {value!r}", remedy="Start the processes with torchrun, or set it as torchrun does."
        )
    return int(value)


def _connect(host: str, port: int, *, serve: bool, seconds: float) -> Store:
    try:
        return TCPStore(
            host, port, is_master=serve, wait_for_workers=False, timeout=datetime.timedelta(seconds=seconds)
        )
    except RuntimeError as error:
        place, text = f"{host}:{port}", str(error)
        if serve and "EADDRINUSE" in text:
            raise UserError(
                f"port {port} is in use",
                place=place,
                remedy="Name another: torchrun --master-port, or MASTER_PORT.",
            ) from None
        reason = text.split("\n")[0].partition(" Error: ")[2] or text.split("\n")[0]
        raise UserError(
            f"process 0 does not answer within {seconds:g} s ({reason[:90]})",
            place=place,
            remedy="Check that it runs, and that its port can be reached.",
        ) from None


def _check_in(seconds: float) -> None:
    """Wait for all processes. Raises ``UserError`` that names those that do not come."""
    _store().set(f"here/{rank()}", "yes")
    until, pause = time.monotonic() + seconds, 0.001
    while missing := [number for number in range(world()) if not _store().check([f"here/{number}"])]:
        if time.monotonic() > until:
            names = ", ".join(map(str, missing))
            one = len(missing) == 1
            who = f"process {names} of {world()} has" if one else f"processes {names} of {world()} have"
            fact = f"{who} not come within {seconds:g} s"
            raise UserError(
                fact, remedy=f"Start all {world()} processes with the same MASTER_ADDR and MASTER_PORT."
            )
        time.sleep(pause := min(2 * pause, 0.2))


# --- waiting and failing ------------------------------------------------------------------------------


def _store() -> Store:
    assert _group.store is not None
    return _group.store


def _wait(key: str) -> None:
    """Wait for a key, without a limit: the preparation of a large corpus takes hours."""
    pause = 0.001
    while not _store().check([key]):
        if _store().check([FAILED]):
            raise SystemExit(BAD_INPUT)
        time.sleep(pause := min(1.5 * pause, 0.2))


def _announce(text: str) -> bool:
    """Return True for the first process that announces an error."""
    with suppress(RuntimeError):
        earlier = _store().add(f"{FAILED}/count", 1) > 1
        for store in (_group.root, _group.store):
            if store is not None:
                store.set(FAILED, text)
        return not earlier
    return True


def _part(seconds: float) -> None:
    """Say goodbye; process 0 stays until all have left, since the store that they read may be its own."""
    with suppress(RuntimeError):
        _store().set(f"left/{rank()}", "yes")
        until, pause = time.monotonic() + seconds, 0.001
        others = [f"left/{number}" for number in range(1, world())] if first() else []
        while not all(_store().check([name]) for name in others) and time.monotonic() < until:
            time.sleep(pause := min(2 * pause, 0.05))


def _is_lost(error: RuntimeError) -> bool:
    """Return True for the errors of torch.distributed about a connection."""
    signs = ("gloo", "NCCL", "Connection", "connection", "Broken pipe", "recvValue", "TCPStore")
    return isinstance(error, dist.DistError) or any(sign in str(error) for sign in signs)


def _end_with_peer(error: RuntimeError) -> None:
    """End because a peer has ended: quietly if it reported an error to the user."""
    until = time.monotonic() + GRACE
    with suppress(RuntimeError):
        while time.monotonic() < until:
            if _store().check([FAILED]):
                raise SystemExit(BAD_INPUT) from error
            time.sleep(0.05)
    raise LostPeerError(
        f"process {rank()} of {world()} has lost another one ({str(error).splitlines()[0][:90]})",
        remedy="The same command resumes from the last saved state.",
    ) from error
