"""The processes of a training: how they join, wait for each other, fail and part.

Facts travel through torch's key-value store, which process 0 or torchrun serves.
"""

import datetime
import os
import time
from contextlib import suppress

import torch
import torch.distributed as dist
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


class LostPeerError(UserError):
    """Another process has ended without a word; starting again resumes from the last saved state."""

    code = LOST


class Group:
    """The processes of this training, as long as it is joined."""

    def __init__(self) -> None:
        self.rank, self.world = 0, 1
        self.root: Store | None = None
        self.store: Store | None = None
        self.turns = 0


group = Group()


def join() -> None:
    """Join the other processes. Raises ``UserError``; see ``parallel.begin``."""
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
    group.root, group.store = root, PrefixStore(f"multihead/{start}", root)
    group.rank, group.world = number, count
    try:
        _check_in(seconds)
        dist.init_process_group(
            _backend(), store=PrefixStore("group", group.store), rank=number, world_size=count
        )
        dist.all_reduce(torch.zeros(1))  # one that ends while another still connects would abort it
    except BaseException:
        group.__init__()  # type: ignore[misc]
        raise
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", number)) % torch.cuda.device_count())


def _backend() -> str:
    """Return torch's name of what carries the tensors: NCCL between GPUs, gloo for everything else."""
    if not (torch.cuda.is_available() and dist.is_nccl_available()):
        return "gloo"
    # NCCL refuses two processes on one GPU; gloo takes their tensors through main memory.
    shared = int(os.environ.get("LOCAL_WORLD_SIZE") or 1) > torch.cuda.device_count()
    return "cpu:gloo,cuda:gloo" if shared else "cpu:gloo,cuda:nccl"


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
    """Wait for all processes. Raises ``UserError`` naming the missing ones."""
    store().set(f"here/{group.rank}", "yes")
    until, pause = time.monotonic() + seconds, 0.001
    while missing := [number for number in range(group.world) if not store().check([f"here/{number}"])]:
        if time.monotonic() > until:
            names = ", ".join(map(str, missing))
            single = len(missing) == 1
            who = (
                f"process {names} of {group.world} has"
                if single
                else f"processes {names} of {group.world} have"
            )
            fact = f"{who} not come within {seconds:g} s"
            raise UserError(
                fact, remedy=f"Start all {group.world} processes with the same MASTER_ADDR and MASTER_PORT."
            )
        time.sleep(pause := min(2 * pause, 0.2))


def store() -> Store:
    """Return the store that belongs to this start of the training."""
    assert group.store is not None
    return group.store


def wait(key: str) -> None:
    """Wait for a key, without a limit: the preparation of a large corpus takes hours."""
    pause = 0.001
    while not store().check([key]):
        if store().check([FAILED]):
            raise SystemExit(BAD_INPUT)
        time.sleep(pause := min(1.5 * pause, 0.2))


def announce(text: str) -> bool:
    """Return True for the first process that announces an error."""
    with suppress(RuntimeError):
        earlier = store().add(f"{FAILED}/count", 1) > 1
        for opened_store in (group.root, group.store):
            if opened_store is not None:
                opened_store.set(FAILED, text)
        return not earlier
    return True


def part(seconds: float) -> None:
    """Say goodbye; process 0 stays until all have left, since the store that they read may be its own."""
    with suppress(RuntimeError):
        store().set(f"left/{group.rank}", "yes")
        until, pause = time.monotonic() + seconds, 0.001
        others = [f"left/{number}" for number in range(1, group.world)] if group.rank == 0 else []
        while not all(store().check([name]) for name in others) and time.monotonic() < until:
            time.sleep(pause := min(2 * pause, 0.05))


def is_lost(error: RuntimeError) -> bool:
    """Return True for the errors of torch.distributed about a connection."""
    signs = ("gloo", "NCCL", "Connection", "connection", "Broken pipe", "recvValue", "TCPStore")
    return isinstance(error, dist.DistError) or any(sign in str(error) for sign in signs)


def end_with_peer(error: RuntimeError) -> None:
    """End because a peer has ended: quietly if it reported an error to the user."""
    until = time.monotonic() + GRACE
    with suppress(RuntimeError):
        while time.monotonic() < until:
            if store().check([FAILED]):
                raise SystemExit(BAD_INPUT) from error
            time.sleep(0.05)
    raise LostPeerError(
        f"process {group.rank} of {group.world} has lost another one ({str(error).splitlines()[0][:90]})",
        remedy="The same command resumes from the last saved state.",
    ) from error
