"""Several processes that train one model: joining, agreement, work of the first process alone.

The launcher (torchrun, ``multihead train --processes``, Slurm, Ray) sets RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT. Facts travel as JSON through torch's key-value store, tensors through ``torch.distributed``.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from multihead.errors import UserError
from multihead.system.rendezvous import (
    BAD_INPUT,
    FAREWELL,
    GRACE,
    announce,
    end_with_peer,
    group,
    is_lost,
    join,
    part,
    store,
    wait,
)

Json = Any


def is_launched() -> bool:
    """Return True if a launcher started this process as one of several."""
    return os.environ.get("WORLD_SIZE", "1") not in ("", "1") and "RANK" in os.environ


def world() -> int:
    """Return the number of processes that train together; 1 outside :func:`begin`."""
    return group.world


def rank() -> int:
    """Return this process's number, from 0."""
    return group.rank


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
    if not is_launched() or group.store is not None:
        yield
        return
    join()
    patience = 0.0
    try:
        yield
        patience = FAREWELL
    except UserError as error:
        patience = GRACE
        if announce(str(error)):
            raise
        raise SystemExit(BAD_INPUT) from error
    except RuntimeError as error:
        if not is_lost(error):
            raise
        end_with_peer(error)
    finally:
        part(patience)
        with suppress(RuntimeError):  # left to the interpreter's end, its threads would abort the process
            dist.destroy_process_group()
        group.__init__()  # type: ignore[misc]


def gather_numbers(numbers: list[float]) -> list[list[float]]:
    """Return every process's numbers, by rank; all give as many. Integers up to 2^53 are exact."""
    if world() == 1:
        return [numbers]
    local = torch.tensor(numbers, dtype=torch.float64)
    gathered = [torch.empty_like(local) for _ in range(world())]
    dist.all_gather(gathered, local)
    return [row.tolist() for row in gathered]


def from_first(work: Callable[[], Json]) -> Json:
    """Run ``work`` in the first process and return its result, made of JSON values, in all.

    The others wait as long as it takes.
    """
    return from_rank(0, work)


def from_rank(source: int, work: Callable[[], Json]) -> Json:
    """Run ``work`` in process ``source`` and return its result in all; see :func:`from_first`."""
    if world() == 1:
        return work()
    group.turns += 1
    key = f"from/{group.turns}"
    if rank() == source:
        store().set(key, json.dumps(outcome := work()))
        return outcome
    wait(key)
    return json.loads(store().get(key))


def in_turn(work: Callable[[], Any]) -> Any:
    """Run ``work`` in the first process, then in one process of each machine, then in the others.

    What the first leaves in a cache, the others find there.
    """
    if world() == 1:
        return work()
    group.turns += 1
    name = f"turn/{group.turns}"
    local = int(os.environ.get("LOCAL_RANK", rank()))
    turn = 0 if first() else 1 if local == 0 else 2
    leaders = [int(row[0]) for row in gather_numbers([float(local == 0 or first())])]
    if turn >= 1:
        wait(f"{name}/0")
    if turn == 2:
        for leader in (number for number, leads in enumerate(leaders) if leads):
            wait(f"{name}/{leader}")
    result = work()
    store().set(f"{name}/{rank()}", "done")
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
    described = from_first(lambda: _describe(tensors))
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
    described = from_rank(source, lambda: _describe(tensors))
    received: dict[str, Tensor] = {}
    for name, (dtype, shape) in described.items():
        if rank() == source:
            dist.send(tensors[name].detach().cpu().contiguous(), dst=0)
        elif first():
            received[name] = torch.empty(shape, dtype=getattr(torch, dtype))
            dist.recv(received[name], src=source)
    return received


def _describe(tensors: Mapping[str, Tensor]) -> dict[str, Json]:
    return {name: [str(t.dtype).removeprefix("torch."), [*t.shape]] for name, t in tensors.items()}


def require_equal_facts(facts: Mapping[str, Json], remedy: str) -> None:
    """Compare facts between the processes.

    Args:
        facts: values by the name that the error shall give them.
        remedy: the error's remedy.

    Raises:
        UserError: a process differs from the first in one of them.
    """
    if world() == 1:
        return
    group.turns += 1
    key = f"facts/{group.turns}"
    store().set(f"{key}/{rank()}", json.dumps(facts))
    facts_of_rank = []
    for number in range(world()):
        wait(f"{key}/{number}")
        facts_of_rank.append(json.loads(store().get(f"{key}/{number}")))
    for number, other in enumerate(facts_of_rank):
        for name in {**facts_of_rank[0], **other}:
            here, there = other.get(name), facts_of_rank[0].get(name)
            if here != there:
                fact = f"process {number} differs from process 0 in {name} ({here}, in process 0 {there})"
                raise UserError(fact, remedy=remedy)
