"""Execution of a sweep, each member in its own process."""

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Protocol

from multihead import recipe as recipes
from multihead.apps.studies.sweep import member as member_process
from multihead.apps.studies.sweep.plan import Member, Sweep
from multihead.errors import UserError
from multihead.inspect.report.content import RunFacts, facts
from multihead.run import Run, files
from multihead.system import plugins
from multihead.system.cores import usable_cores
from multihead.system.part import part_of
from multihead.training.interrupt import interruptible

POLL_SECONDS, PROGRESS_SECONDS = 0.1, 60.0

State = Literal["waiting", "running", "done", "failed", "interrupted"]


@dataclass(frozen=True)
class MemberRow:
    """The state and result of a member.

    Attributes:
        member: the member.
        state: its state.
        result: its numbers, with a nested mapping for each test set; empty until it is done.
        error: the reason why it failed.
    """

    member: Member
    state: State
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


class SweepObserver(Protocol):
    """Receives progress events of a sweep."""

    def on_change(self, row: MemberRow, rows: Sequence[MemberRow]) -> None:
        """Called when a member starts or ends, with its row and all rows."""
        ...

    def on_progress(self, rows: Sequence[MemberRow]) -> None:
        """Called every ``PROGRESS_SECONDS`` while members run, with all rows."""
        ...


def run_sweep(
    sweep: Sweep,
    folder: Path,
    observer: SweepObserver,
    *,
    jobs: int = 1,
    part: tuple[int, int] = (1, 1),
    only: str = "*",
) -> list[MemberRow]:
    """Train and evaluate all unfinished members, resuming interrupted ones; return the rows of all.

    A failed member does not stop the others, and the same call tries it again. SIGINT and SIGTERM stop all
    members after their current update.

    Args:
        sweep: the sweep.
        folder: folder for the members' run folders, recipes and logs.
        observer: receives progress events.
        jobs: number of concurrent members; they share the cores.
        part: (i, n) runs every n-th member from the i-th on, and only reads the others.
        only: shell pattern of the names of the members to run.
    """
    rows = {member.name: _before(member, folder) for member in sweep.members}
    members = part_of(members_named(sweep, only), *part)
    waiting = deque(member for member in members if rows[member.name].state == "waiting")
    running: dict[str, subprocess.Popen[bytes]] = {}
    files.make_folder(folder)
    with interruptible() as interrupt:
        stopping, due = False, time.monotonic() + PROGRESS_SECONDS
        try:
            while waiting or running:
                if time.monotonic() >= due:
                    due += PROGRESS_SECONDS
                    observer.on_progress([*rows.values()])
                if interrupt.requested and not stopping:
                    stopping = True
                    waiting.clear()
                    for process in running.values():
                        process.send_signal(signal.SIGINT)
                while waiting and len(running) < jobs:
                    member = waiting.popleft()
                    running[member.name] = _start(member, folder, jobs)
                    rows[member.name] = MemberRow(member, "running")
                    observer.on_change(rows[member.name], [*rows.values()])
                for name in [name for name, process in running.items() if process.poll() is not None]:
                    code = running.pop(name).returncode
                    rows[name] = _after(rows[name].member, folder, code, stopping=stopping)
                    observer.on_change(rows[name], [*rows.values()])
                time.sleep(POLL_SECONDS)
        finally:
            for process in running.values():
                process.kill()
    # Other parts may have ended meanwhile.
    return [row if row.member in members else _before(row.member, folder) for row in rows.values()]


def begun_runs(rows: Sequence[MemberRow], folder: Path) -> list[RunFacts]:
    """Return the runs of the members that have begun."""
    runs = []
    for name in (row.member.name for row in rows):
        with suppress(UserError):  # no training has begun in this folder
            runs.append(facts(Run.open(folder / name), name))
    return runs


def members_named(sweep: Sweep, pattern: str) -> list[Member]:
    """Return the members whose names match a shell pattern."""
    return [member for member in sweep.members if fnmatchcase(member.name, pattern)]


def _before(member: Member, folder: Path) -> MemberRow:
    result = member_process.result_of(member.recipe, folder / member.name)
    return MemberRow(member, "waiting") if result is None else MemberRow(member, "done", result)


def _start(member: Member, folder: Path, jobs: int) -> "subprocess.Popen[bytes]":
    recipe = member.recipe
    if jobs > 1 and not recipe.training.threads:
        threads = max(1, usable_cores() // jobs)
        recipe = replace(recipe, training=recipe.training.model_copy(update={"threads": threads}))
    file = folder / f"{member.name}.toml"
    files.write_text(file, recipes.to_toml(recipe))
    command = [sys.executable, "-m", "multihead.apps.studies.sweep", str(file), str(folder / member.name)]
    with _log(member, folder).open("wb") as log:
        # In a new session, so that Ctrl-C reaches it only through this process.
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=plugins.child_environment(),
        )


def _after(member: Member, folder: Path, code: int, *, stopping: bool) -> MemberRow:
    result = member_process.result_of(member.recipe, folder / member.name)
    if code == member_process.DONE and result is not None:
        return MemberRow(member, "done", result)
    if code == member_process.INTERRUPTED or stopping:
        return MemberRow(member, "interrupted")
    last_line = _log(member, folder).read_text(encoding="utf-8", errors="replace").strip().split("\n")[-1]
    return MemberRow(member, "failed", error=last_line or f"exited with code {code}")


def _log(member: Member, folder: Path) -> Path:
    return folder / f"{member.name}.log"
