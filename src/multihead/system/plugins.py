"""Models and tasks from outside the package: installed entry points, and Python files that the user names.

An entry point (groups ``multihead.models`` and ``multihead.tasks``) is trusted because its package was
installed. A Python file is executed only if the user names it in this process: by ``--model.file FILE``,
``--model.kind FILE``, ``multihead.load(..., model_file=FILE)``, or the environment variable
``MULTIHEAD_MODEL_FILES``. A recipe and a sweep name a path, a run folder records ``file.py@SHA-256``: either
is only searched among the files that the user has named. So no file is executed because a file that somebody
sent names it.
"""

import hashlib
import importlib.util
import logging
import os
import re
import shlex
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.abc import InspectLoader
from pathlib import Path
from types import CodeType, ModuleType

from multihead.errors import UserError
from multihead.system import disk

VARIABLE = "MULTIHEAD_MODEL_FILES"
"""Environment variable with Python files that may be executed, separated as in PATH."""

ENDING = ".py"
_RECORD = re.compile(r"(?P<name>[^/\\@]+\.py)@(?P<sha256>[0-9a-f]{64})")
SHORT = 12
"""Digits of a SHA-256 in messages."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class File:
    """A Python file that the user named, with its content at that time.

    Attributes:
        path: its absolute path.
        content: its bytes, which are executed even if the file changes later.
    """

    path: Path
    content: bytes

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def record(self) -> str:
        """Its name in recipes and run folders, ``file.py@SHA-256``."""
        return f"{self.path.name}@{self.sha256}"


_named: dict[Path, File] = {}
"""Every file that the user named, with its latest content."""
_known: dict[str, File] = {}
"""Every content of a named file, by record."""
_modules: dict[str, ModuleType] = {}
"""Executed modules, by record."""
_warned: set[tuple[str, str]] = set()


def is_path(kind: str) -> bool:
    """Return True if a model's or task's name is the path of a Python file."""
    return kind.endswith(ENDING)


def is_record(kind: str) -> bool:
    """Return True if a model's or task's name is a record, ``file.py@SHA-256``."""
    return _RECORD.fullmatch(kind) is not None


def name_file(path: str | Path, beside: Path = Path()) -> str:
    """Register a Python file that the user names, and return its record. The file is not executed yet.

    Args:
        path: the file.
        beside: the folder to which a relative path refers.

    Raises:
        UserError: the file cannot be read, or its name does not fit into a record.
    """
    place = Path(os.path.abspath(beside / path))  # noqa: PTH100 (a link keeps its own name)
    try:
        file = File(place, disk.content(place))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        fact = f"cannot be read as the Python file of a model or a task ({reason})"
        raise UserError(fact, place=str(place), remedy="Check the path.") from None
    if not is_record(file.record) or not place.name.isprintable():
        remedy = "Name it like a Python module: my_model.py."
        raise UserError(
            "not a valid name for the Python file of a model or a task", place=str(place), remedy=remedy
        )
    _named[place] = _known[file.record] = file
    return file.record


def record_of(path: str, beside: Path) -> str:
    """Return the record of the user's file that a recipe or a sweep names by its path.

    Args:
        path: the path as written there.
        beside: the folder to which a relative path refers.

    Raises:
        UserError: the user has named no file at this path, nor a single one of this name.
    """
    _register_environment()
    place = Path(os.path.abspath(beside / path))  # noqa: PTH100
    files = [file for file in _named.values() if file.path.name == place.name]
    files = [file for file in files if file.path == place] or files
    if len(files) == 1:
        return files[0].record
    raise UserError(
        f'"{path}" is a Python file, which is executed only where you name it yourself',
        remedy=f"Add --model.file {shlex.quote(os.path.relpath(place))}, or set {VARIABLE}. Name only files "
        "that you trust: their code can do whatever you can.",
    )


def in_use(record: str) -> str:
    """Return the record of the file to use for a record: itself, or that of the changed file.

    Raises:
        UserError: the user has named no file of this name, or several with other contents.
    """
    name = record.rpartition("@")[0]
    _register_environment()
    if record in _known:
        return record
    files = {file.record: file for file in _named.values() if file.path.name == name}
    if not files:
        raise UserError(
            f"{display_name(record)} is code from outside the package, "
            "which is executed only where you name it",
            remedy=f"Add --model.file path/to/{name}, or set {VARIABLE}; in Python, pass model_file= to "
            "multihead.load. Name only files that you trust: their code can do whatever you can.",
        )
    if len(files) > 1:
        places = ", ".join(sorted(str(file.path) for file in files.values()))
        fact = f"{display_name(record)} is needed, but no file of this name has this content ({places})"
        raise UserError(fact, remedy="Name only the right one.")
    (other,) = files
    warn_of_change(record, other)
    return other


def warn_of_change(recorded: str, now: str) -> None:
    """Warn, once for each pair of records, that a file has changed since a run recorded it."""
    if recorded != now and (recorded, now) not in _warned:
        _warned.add((recorded, now))
        LOG.warning(
            "%s is recorded, but %s is used: the file has changed, and the model may compute something else.",
            display_name(recorded),
            display_name(now),
        )


def load_file(record: str) -> ModuleType:
    """Return the module of a file that the user named; the first call executes it.

    Raises:
        UserError: see :func:`in_use`; the code raises an error.
    """
    record = in_use(record)
    if record not in _modules:
        _modules[record] = _execute(_known[record])
    return _modules[record]


class _Loader(InspectLoader):
    """Executes the hashed bytes, without reading the file again or using a compiled file next to it."""

    def __init__(self, file: File) -> None:
        self.file = file

    def get_source(self, fullname: str) -> str:
        return importlib.util.decode_source(self.file.content)

    def is_package(self, fullname: str) -> bool:
        return False

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.file.content, str(self.file.path), "exec", dont_inherit=True)


def _execute(file: File) -> ModuleType:
    name = f"multihead_file_{file.sha256[:SHORT]}_{file.path.stem}"
    spec = importlib.util.spec_from_loader(name, _Loader(file), origin=str(file.path))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(file.path)  # where pydantic reads the docstrings of fields
    sys.modules[name] = module
    try:
        assert spec.loader is not None
        spec.loader.exec_module(module)
    except UserError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(file.path)
        ]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        place = f"{file.path}:{line}" if line else str(file.path)
        fact = f"its code fails ({type(error).__name__}: {error})"
        raise UserError(fact, place=place, remedy="--debug shows the traceback.") from error
    return module


def display_name(kind: str) -> str:
    """Return a model's or task's name for messages: a record with the first digits of its hash."""
    match = _RECORD.fullmatch(kind)
    return f"{match['name']} (SHA-256 {match['sha256'][:SHORT]})" if match else kind


def file_of(module: str) -> str | None:
    """Return the name, for messages, of the file that a module was executed from; None for other modules."""
    records = (record for record, loaded in _modules.items() if loaded.__name__ == module)
    return next(map(display_name, records), None)


def option(*kinds: str) -> str:
    """Return the option that a command needs for these models or tasks, " --model.file FILE", or ""."""
    files = dict.fromkeys(str(_known[kind].path) for kind in kinds if kind in _known)
    return "".join(f" --model.file {shlex.quote(file)}" for file in files)


def path(kind: str) -> str:
    """Return the path of the file that the user named for a model or a task; "" if it is not such a file."""
    return str(_known[kind].path) if kind in _known else ""


def child_environment() -> dict[str, str]:
    """Return the environment for a child process that may execute the same files."""
    return {**os.environ, VARIABLE: os.pathsep.join(map(str, _named))} if _named else dict(os.environ)


def _register_environment() -> None:
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        if Path(os.path.abspath(path)) not in _named:  # noqa: PTH100
            name_file(path)


# --- entry points -----------------------------------------------------------------------------------------


def installed_entry_points(group: str, taken: Collection[str] = ()) -> Mapping[str, metadata.EntryPoint]:
    """Return the entry points of a group by name, without importing them.

    Args:
        group: ``multihead.models`` or ``multihead.tasks``.
        taken: names used by this package. They take precedence, as does the first of two packages, with a
            warning.
    """
    entry_points: dict[str, metadata.EntryPoint] = {}
    for entry in metadata.entry_points(group=group):
        if entry.name not in taken and entry_points.setdefault(entry.name, entry).value == entry.value:
            continue
        if (group, entry.name) not in _warned:
            _warned.add((group, entry.name))
            message = "%s of %s (entry point of %s) is ignored: its name is already taken."
            LOG.warning(message, entry.name, entry.dist.name if entry.dist else "a package", group)
    return entry_points


def load_installed(entry: metadata.EntryPoint) -> ModuleType:
    """Return the module of an entry point.

    Raises:
        UserError: it cannot be imported, or is not a module.
    """
    try:
        module = entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else "an installed package"
        fact = f'the entry point "{entry.name}" of {package} fails ({type(error).__name__}: {error})'
        raise UserError(fact, place=entry.group, remedy="Fix or uninstall the package.") from error
    if not isinstance(module, ModuleType):
        fact = f'the entry point "{entry.name}" is not a module but a {type(module).__name__}'
        raise UserError(fact, place=entry.group, remedy=f'Name a module: {entry.name} = "package.module".')
    return module


def distributions(group: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield name and version of the package with an entry point of this name."""
    entry = installed_entry_points(group).get(name)
    if entry is not None and entry.dist is not None:
        yield entry.dist.name, entry.dist.version
