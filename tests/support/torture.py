"""Faults injected into trainings and run folders: a table of rows, each in a short and in a long form.

An injection is *survived* if the training, started again, ends with the bytes of one that met no fault, or if
what is damaged is reported by ``multihead verify`` and refused, or left out, in one line. Anything else is
*lost*: other bytes without a word, a traceback, a folder that cannot be used any more.

A fault joins by one line of ``ROWS``, a kind of checkpoint by one line of ``FORMATS``.
"""

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from backwards import Silent, contents, fit, small_transformer, training_in
from damaged_runs import READ, make_run, reported

from multihead.data import checksums
from multihead.data.prepare import prepare
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.run import Run, journal, tensors
from multihead.run.lock import Lock
from multihead.system import disk

FORMATS: Mapping[str, dict[str, object]] = {
    "Adam": {},
    "AdamW, moving average": {"optimizer": "adamw", "ema": 0.9},
    "Muon, cool-down": {"optimizer": "muon", "schedule": "wsd"},
}
"""Kinds of checkpoints, by the settings that write them."""
REFUSED, KILLED = 2, 9
"""Exit codes of a copy of this process: an error in one line, and a power failure."""
TRAINED, LAST = 20, 23
"""Updates of the run that is damaged, and of the one that it is continued to."""


class Killed(BaseException):
    """Stands for a power failure."""


class StopsAt(Silent):
    """Interrupts a training after an update."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_step(self, step: int) -> None:
        if step == self.step < LAST:
            signal.raise_signal(signal.SIGINT)


class Case:
    """A place for injections: a trained run of each format, and what it becomes without a fault."""

    def __init__(self, root: Path) -> None:
        self.root, self.chance, self._made, self.number = root, random.Random(1), 0, 0
        self._whole: dict[tuple[str, int], dict[str, object]] = {}
        self._seconds: dict[str, float] = {}

    def new(self) -> Path:
        """Return a new folder."""
        self._made += 1
        folder = self.root / f"{self._made}"
        folder.mkdir(parents=True)
        return folder

    def format(self) -> str:
        """Return the format of the next injection: each in turn."""
        return [*FORMATS][self.number % len(FORMATS)]

    def train(self, folder: Path, format: str, stop: int = LAST) -> None:
        """Train, or resume, in this process, up to an update."""
        settings = {**FORMATS[format], "steps": LAST, "horizon": LAST}
        fit(training_in(folder, small_transformer(), settings=settings, observer=StopsAt(stop)))

    def trained(self, format: str) -> Path:
        """Return a copy of a trained run."""
        folder = self.root / f"trained {format}"
        if not folder.exists():
            self.train(folder, format, TRAINED)
        copy = self.new() / "run"
        shutil.copytree(folder, copy)
        return copy

    def whole(self, format: str, before: int = 0) -> dict[str, object]:
        """Return the contents of a run that met no fault; ``before``: it was ended there once."""
        if (format, before) not in self._whole:
            folder = self.new()
            for stop in (before, LAST) if before else (LAST,):
                self.train(folder, format, stop)
            self._whole[format, before] = contents(folder)
        return self._whole[format, before]

    def seconds(self, format: str) -> float:
        """Return the duration of a training that meets no fault."""
        if format not in self._seconds:
            began = time.monotonic()
            self.train(self.new(), format)
            self._seconds[format] = time.monotonic() - began
        return self._seconds[format]

    def differs(self, folder: Path, format: str, before: int = 0) -> str:
        """Resume a run without a fault; return "" if it becomes what it would have become."""
        try:
            self.train(folder, format)
        except UserError as error:
            return f"not resumed: {error}"
        return difference(contents(folder), self.whole(format, before))


def difference(found: Mapping[str, object], wanted: Mapping[str, object]) -> str:
    """Return the names of what differs between the contents of two runs, "" if nothing does.

    Of the training states only the newest counts: the one before it is wherever a training was interrupted.
    """
    names = {*found, *wanted}
    newest = max(name for name in names if name.startswith("state-"))[: len("state-0000000000")]
    names -= {name for name in names if name.startswith("state-") and not name.startswith(newest)}
    other = sorted(name for name in names if found.get(name) != wanted.get(name))
    return f"other bytes: {', '.join(other)}" if other else ""


Inject = Callable[[Case], str]
"""Makes an injection; returns what was lost, "" for nothing."""


@dataclass(frozen=True)
class Row:
    """A fault: its name, its injection, and the number of them in the long and in the short form."""

    name: str
    inject: Inject
    long: int
    short: int = 1


# --- processes ----------------------------------------------------------------------------------------


def forked(work: Callable[[], object]) -> int:
    """Run work in a copy of this process; return the copy's number."""
    if child := os.fork():
        return child
    try:
        with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
            work()
    except Killed:
        os._exit(KILLED)
    except UserError as error:
        os._exit(REFUSED if "\n" not in str(error) else 1)
    except BaseException:
        os._exit(1)
    os._exit(0)


def ended(child: int) -> int:
    """Wait for a copy of this process; return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill(case: Case, number: int = signal.SIGKILL) -> str:
    """Send a signal at a random moment of a training."""
    folder, format = case.new() / "run", case.format()
    child = forked(lambda: case.train(folder, format))
    time.sleep(case.chance.uniform(0.0, case.seconds(format)))
    os.kill(child, number)
    os.waitpid(child, 0)
    folder.mkdir(exist_ok=True)
    return case.differs(folder, format)


def two_trainers(case: Case) -> str:
    """Start a second training in the folder of one that runs."""
    folder, format = case.new() / "run", case.format()
    child = forked(lambda: case.train(folder, format))
    refused = finished = False
    while not refused and not finished:
        finished = os.waitpid(child, os.WNOHANG)[0] == child
        if (folder / ".lock").exists() and not finished:
            try:
                Lock(folder).release()
            except UserError:
                refused = True
        time.sleep(0.01)
    if not finished:
        os.waitpid(child, 0)
    return case.differs(folder, format) if refused else "the second training was not refused"


# --- the disk -----------------------------------------------------------------------------------------


@contextmanager
def failing(error: BaseException, left: int) -> Iterator[None]:
    """Fail an operation of the disk after ``left`` others, and all that follow if the disk refuses."""
    true_sync, true_replace = disk.sync, Path.replace

    def next_one() -> None:
        nonlocal left
        left -= 1
        if left == -1 or (left < -1 and isinstance(error, OSError)):
            raise error

    def sync(path: Path) -> None:
        next_one()
        true_sync(path)

    def replace(self: Path, target: Path) -> Path:
        next_one()
        return true_replace(self, target)

    with mock.patch.object(disk, "sync", sync), mock.patch.object(Path, "replace", replace):
        yield


def failing_disk(code: int) -> Inject:
    """The disk begins to fail at a random operation; the training is started again when it works again."""

    def inject(case: Case) -> str:
        folder, format = case.trained(format := case.format()), format
        left = case.chance.randrange(20)

        def work() -> None:
            with failing(OSError(code, os.strerror(code)), left):
                case.train(folder, format)

        if (found := ended(forked(work))) not in (0, REFUSED):
            return f"not an error in one line (exit code {found})"
        return case.differs(folder, format, TRAINED)

    return inject


def power_cut(case: Case) -> str:
    """End without any clearing up, at a random operation of the disk."""
    folder, format = case.trained(format := case.format()), format
    left = case.chance.randrange(20)

    def work() -> None:
        with failing(Killed(), left):
            case.train(folder, format)

    if (found := ended(forked(work))) not in (0, KILLED):
        return f"exit code {found}"
    return case.differs(folder, format, TRAINED)


def short_writes(case: Case) -> str:
    """Let no file grow beyond a random size: the system cuts real writes."""
    folder, format = case.trained(format := case.format()), format
    most = case.chance.randrange(1, 200_000)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        case.train(folder, format)

    if (found := ended(forked(work))) not in (0, REFUSED):
        return f"not an error in one line (exit code {found})"
    return case.differs(folder, format, TRAINED)


def system_call(case: Case) -> str:
    """Fail a system call of a real process at a random moment, by strace."""
    call = case.chance.choice(
        ["fsync:error=EIO", "rename:error=ENOSPC", "write:error=ENOSPC", "mkdir:error=EIO"]
    )
    folder, format = case.new() / "run", "Adam"
    when = case.chance.randrange(1, 40)
    code = (
        "import sys; from pathlib import Path; from backwards import *\n"
        f"settings = {{'steps': {LAST}, 'horizon': {LAST}}}\n"
        "fit(training_in(Path(sys.argv[1]), small_transformer(), settings=settings))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    inject = ["strace", "-f", "-o", os.devnull, "-e", f"inject={call}:when={when}"]
    subprocess.run(
        [*inject, sys.executable, "-c", code, str(folder)], env=environment, capture_output=True, check=False
    )
    folder.mkdir(exist_ok=True)
    return case.differs(folder, format)


# --- damage -------------------------------------------------------------------------------------------


def flip(path: Path, chance: random.Random) -> None:
    """Flip a bit."""
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def cut(path: Path, chance: random.Random) -> None:
    """Cut off the end."""
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])


def zero(path: Path, chance: random.Random) -> None:
    """Put zeros in the place of up to 4096 bytes."""
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content))
    end = min(len(content), start + 4096)
    content[start:end] = bytes(end - start)
    path.write_bytes(content)


def damaged(path: Path) -> bool:
    """Return whether a file of tensors is refused when it is read."""
    try:
        tensors.load(path)
    except UserError:
        return True
    return False


def damaged_state(fault: Callable[[Path, random.Random], None]) -> Inject:
    """Damage a checkpoint of a run, and continue it."""

    def inject(case: Case) -> str:
        folder, format = case.trained(format := case.format()), format
        path = case.chance.choice(sorted((folder / "checkpoints").glob("*.safetensors")))
        before = path.read_bytes()
        fault(path, case.chance)
        if path.read_bytes() == before:
            return ""
        if not damaged(path):
            return f"{path.name}: unnoticed"
        try:
            case.train(folder, format)
        except UserError as error:
            return f"not resumed: {error}"
        wanted = dict(case.whole(format, TRAINED))
        if path.exists() and damaged(path):  # an older state stays as it is, and stays reported
            path.unlink()
            for name in (f"checkpoints/{path.name}", path.stem, f"{path.stem} meta"):
                wanted.pop(name, None)
        other = difference(contents(folder), wanted)
        said = any("damaged" in event for event in Run(folder).metrics())
        return "" if said or not other else f"{path.name}: {other}"

    return inject


def damaged_file(fault: Callable[[Path, random.Random], None]) -> Inject:
    """Damage a file of a run; read it, and verify the run."""

    def inject(case: Case) -> str:
        folder = make_run(case.new() / "run")
        name = case.chance.choice(sorted(READ))
        path = folder / name
        before = path.read_bytes()
        fault(path, case.chance)
        if path.read_bytes() == before:
            return ""
        journal._warn.cache_clear()
        try:
            found = READ[name](Run(folder))
        except UserError as error:
            return "" if reported(folder, path) and "\n" not in str(error) else f"verify is silent: {error}"
        return "" if name == "metrics.jsonl" and (found or reported(folder, path)) else f"{name}: unnoticed"

    return inject


def damaged_store(case: Case) -> str:
    """Damage a file of the prepared data; prepare again."""
    folder = case.new()
    lines = [
        f"{a} {b}" for a in ("ein", "zwei", "drei", "vier", "elf") for b in ("hund", "tag", "haus", "jahr")
    ]
    for side in ("de", "en"):
        (folder / f"t.{side}").write_text("".join(f"{line} {side}\n" for line in lines))
    data = DataSettings(dir=str(folder), source=("t.de",), target=("t.en",), cache=str(folder / "cache"))
    tokenizer = TokenizerSettings(kind="words", vocab_size=40)
    first = prepare(data, tokenizer)
    wanted = checksums._find(first.folder, checksums._files(first.folder))
    path = case.chance.choice(sorted(p for p in first.folder.rglob("*") if p.is_file() and p.stat().st_size))
    case.chance.choice([flip, cut, zero])(path, case.chance)
    again = prepare(data, tokenizer)
    return "" if checksums._find(again.folder, checksums._files(again.folder)) == wanted else "other data"


# --- time ---------------------------------------------------------------------------------------------


def clock_jump(case: Case) -> str:
    """Let the clocks jump forwards and the calendar backwards while a training runs."""
    folder, format = case.new() / "run", case.format()
    true_time, offset = time.time, 0.0

    def jumping() -> float:
        nonlocal offset
        if case.chance.random() < 0.1:
            offset += case.chance.uniform(-1e9, 1e9)
        return true_time() + offset

    with (
        mock.patch.object(time, "time", jumping),
        mock.patch.object(time, "time_ns", side_effect=lambda: int(1e9 * jumping())),
    ):
        case.train(folder, format)
    return difference(contents(folder), case.whole(format))


ROWS = (
    Row("SIGKILL at a random moment", kill, 60),
    Row("SIGTERM at a random moment", lambda case: kill(case, signal.SIGTERM), 30),
    Row("power cut at an operation of the disk", power_cut, 40),
    Row("full disk (ENOSPC) at an operation", failing_disk(errno.ENOSPC), 20),
    Row("failing disk (EIO) at an operation", failing_disk(errno.EIO), 20),
    Row("writes cut short by the system (RLIMIT_FSIZE)", short_writes, 20),
    Row("failing system call (strace)", system_call, 12, 0),
    Row("flipped bit in a checkpoint", damaged_state(flip), 60),
    Row("checkpoint cut off", damaged_state(cut), 30),
    Row("zeros in a checkpoint", damaged_state(zero), 30),
    Row("flipped bit in another file of a run", damaged_file(flip), 300, 4),
    Row("another file of a run cut off", damaged_file(cut), 100, 3),
    Row("zeros in another file of a run", damaged_file(zero), 100, 3),
    Row("damaged token store or its vocabulary", damaged_store, 60, 2),
    Row("two trainings in one folder", two_trainers, 10),
    Row("jumping clock", clock_jump, 10),
)


def run_row(row: Row, case: Case, count: int, seed: int = 1) -> list[str]:
    """Make injections; return what each one lost, "" for nothing."""
    case.chance = random.Random(f"{row.name} {seed}")
    found = []
    for case.number in range(count):
        try:
            found.append(row.inject(case))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found
