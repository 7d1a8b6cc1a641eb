"""The house stands: a file imports only from lower floors, and rooms on one floor do not know each other."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "multihead"


def drawn_floors(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the rooms of each floor, lowest first, as a drawing has them."""
    drawn = re.findall(r"^ (\d) │ ((?:\w+  ?)*\w+)(?: {3,}.*)?$", text, re.MULTILINE)
    floors = sorted((int(number), tuple(rooms.split())) for number, rooms in drawn)
    assert [number for number, _ in floors] == list(range(len(floors)))
    return tuple(rooms for _, rooms in floors)


FLOORS = drawn_floors((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
"""As ``ARCHITECTURE.md`` draws them."""
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

UNKNOWN = {
    "nn": ("multihead.recipe.settings", "multihead.text"),
    "search": ("multihead.recipe.settings", "multihead.nn", "multihead.models"),
    "text": ("torch",),
    "scores": ("torch",),
    "training": ("multihead.models",),
    "engines": ("multihead.models",),
}
"""Imports forbidden to a room although the floors would allow them."""

HIDDEN = {
    "__init__.py": ("importlib", "importlib.metadata"),
}
"""Imports inside functions that have a reason: optional dependencies, and answering fast."""


LOOKERS = {
    "__init__.py",
    "apps/documents/translation_memory.py",
    "apps/export/library.py",  # optional: the runtimes that are exported to
    "apps/huggingface/importing.py",  # and what reads somebody else's
    "apps/huggingface/verification.py",
    "apps/serve/page_routes.py",
    "cli/__init__.py",  # only the chosen command is imported
    "cli/_making.py",
    "cli/_ray.py",  # optional: the engine of a cluster
    "cli/clean.py",
    "cli/doctor.py",
    "cli/serve.py",
    "data/documents/__init__.py",
    "inspect/maps/__init__.py",
    "recipe/__init__.py",  # listing recipes needs neither pydantic nor PyTorch
    "recipe/model_kinds.py",  # a model by its file's name
    "recipe/tasks.py",  # a task by its name, its parts on first use
    "run/__init__.py",  # optional: PyTorch, which a translation by the native kernels does without
    "run/environment.py",
    "run/model_file.py",
    "run/tensors.py",
    "scores/detection.py",
    "system/addresses.py",  # optional: the file systems of object stores
    "text/arrow.py",  # optional: pyarrow
    "system/gpu.py",  # optional: the compiler of the GPU's kernels
    "system/randomness.py",
    "tasks/translation/lines/__init__.py",
    "tasks/translation/lines/loading.py",
    "tasks/translation/lines/native_translator.py",
    "text/identify.py",  # optional: the model that identifies languages
    "text/published.py",  # optional: tokenisers that a published figure was made with
    # optional: FSDP2, which takes as long to import as everything else
    "training/distributed/data_parallel.py",
    "workflows/observers.py",
    "workflows/progress_display.py",
}
"""Files that import a module by a name that is made while they run."""


@dataclass(frozen=True)
class Import:
    """An import: by which file, of which module, on which line, inside a function or not."""

    file: str
    module: str
    line: int
    hidden: bool

    @property
    def importer(self) -> str:
        return _room("multihead." + self.file.removesuffix(".py").replace("/", "."))

    @property
    def imported(self) -> str:
        return _room(self.module)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def _room(module: str) -> str:
    """Return the room of a module of ours, "" for the package itself and for other packages."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "multihead" else ""


def imports_of(text: str, file: str, modules: frozenset[str]) -> Iterator[Import]:
    """Yield what a file imports; ``from multihead import x`` names ``multihead.x`` if that is a module."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        hidden = id(node) in inside
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, alias.name, node.lineno, hidden)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}:{node.lineno}: a relative import"
            assert node.module
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield Import(file, module if module in modules else node.module, node.lineno, hidden)


def sources() -> dict[str, str]:
    """Return the text of every file of the package, by its path in it."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in files}


def all_imports(files: Mapping[str, str]) -> list[Import]:
    names = frozenset(_module(file) for file in files)
    return [found for file, text in files.items() for found in imports_of(text, file, names)]


def _module(file: str) -> str:
    return "multihead." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def upward(found: Import) -> bool:
    """Return True if an import goes up a floor, or to a neighbour's room."""
    inside, outside = found.importer, found.imported
    if not outside or inside == outside or inside not in FLOOR:
        return False
    if FLOOR[inside] == 0 == FLOOR[outside]:
        return False  # The ground floor is one room of single files; circles are looked for below.
    return FLOOR[outside] >= FLOOR[inside]


def forbidden(found: Import) -> bool:
    """Return True if a room imports what it must not know."""
    unknown = UNKNOWN.get(found.importer, ())
    return any(found.module == name or found.module.startswith(name + ".") for name in unknown)


def unexplained(found: Import) -> bool:
    """Return True for an import inside a function that is not a named exception."""
    return found.hidden and not any(
        fnmatchcase(found.file, file) and found.module in modules for file, modules in HIDDEN.items()
    )


def circle(edges: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of a circle, none if there is none (depth-first search with a trail)."""
    done: set[str] = set()

    def walk(module: str, trail: tuple[str, ...]) -> list[str]:
        if module in trail:
            return [*trail[trail.index(module) :], module]
        if module not in done:
            for imported in sorted(edges.get(module, ())):
                if found := walk(imported, (*trail, module)):
                    return found
            done.add(module)
        return []

    return next((found for module in sorted(edges) if (found := walk(module, ()))), [])


IMPORTS = all_imports(sources())


def test_every_room_is_drawn_on_a_floor_and_every_drawn_room_is_there() -> None:
    rooms = {file.partition("/")[0].removesuffix(".py") for file in sources()}
    assert rooms - {"__init__", "__main__"} == FLOOR.keys()


def test_a_drawing_with_a_gap_is_refused() -> None:
    assert drawn_floors(" 1 │ b  c   of something\n 0 │ a\n") == (("a",), ("b", "c"))
    with pytest.raises(AssertionError):
        drawn_floors(" 2 │ b\n 0 │ a\n")


def test_imports_go_downwards() -> None:
    assert [str(found) for found in IMPORTS if upward(found)] == []


def test_rooms_do_not_know_what_they_must_not() -> None:
    assert [str(found) for found in IMPORTS if forbidden(found)] == []


def test_no_import_hides_inside_a_function() -> None:
    assert [str(found) for found in IMPORTS if unexplained(found)] == []


def test_modules_are_looked_up_by_name_only_where_there_is_a_reason() -> None:
    lookers = {file for file, text in sources().items() if "import_module" in text or "__import__" in text}
    assert lookers <= LOOKERS


def test_the_library_of_documents_is_imported_by_its_gateway_alone() -> None:
    importers = {found.file for found in IMPORTS if found.module.partition(".")[0] == "multihead_documents"}
    assert importers == {"data/documents/library.py", "data/documents/bilingual.py"}


def test_no_module_imports_itself_in_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for found in IMPORTS:
        if found.module.startswith("multihead") and not found.hidden:
            edges.setdefault(_module(found.file), set()).add(found.module)
    assert circle(edges) == []


@pytest.mark.parametrize("room", ["text", "scores", "recipe", "errors"])
def test_rooms_of_text_load_no_torch(room: str) -> None:
    """The imports as a process sees them: not even another package imports torch."""
    modules = [_module(file) for file in sources() if file.removesuffix(".py").partition("/")[0] == room]
    assert modules
    lines = ["import sys", *(f"import {module}" for module in modules), "sys.exit('torch' in sys.modules)"]
    assert subprocess.run([sys.executable, "-c", "\n".join(lines)], check=False).returncode == 0


@pytest.mark.parametrize(
    ("file", "line", "fault"),
    [
        ("nn/attention.py", "from multihead.run import Run", upward),
        ("training/loop.py", "import multihead.apps.export.onnx", upward),
        ("text/corpus.py", "from multihead.scores import bleu", upward),
        ("text/corpus.py", "import torch.nn", forbidden),
        ("search/beam.py", "from multihead.nn import masks", forbidden),
        ("run/folder.py", "def f():\n    import json", unexplained),
        ("run/folder.py", "class A:\n    async def f():\n        from json import loads", unexplained),
    ],
)
def test_a_fault_is_seen(file: str, line: str, fault: object) -> None:
    assert callable(fault)
    assert [fault(found) for found in imports_of(line, file, frozenset())] == [True]


def test_a_circle_is_seen() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) == []
