"""Counts over the package, which tests hold: ``python tests/architecture/house_counts.py`` prints them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "multihead"
DOCUMENTS = ROOT / "packages" / "documents" / "src"
ROOMS = (PACKAGE, DOCUMENTS)

IRREGULAR = re.compile(
    "found|given|made|known|shown|kept|chosen|told|written|drawn|grown|sent|built|bought|caught|held|left|lost|met|"
    "paid|said|sold|spent|taught|thought|worn|won|begun|broken|driven|fallen|forgotten|frozen|gone|seen|spoken|"
    "stolen|taken|thrown|laid|lain"
)
NOUNS = {"hidden", "need", "speed", "seed", "feed", "embed", "exceed"}
"""Words that look like participles and are nouns or verbs; hidden: the hidden states of a model."""
IDIOM = {
    *(
        "found",
        "given",
        "own",
        "one",
        "made",
        "wanted",
        "each",
        "read",
        "kept",
        "chosen",
        "known",
        "asked",
        "said",
    ),
    *("shown", "told", "drawn", "taken"),
}
"""Names of variables that say how a value came about, not what it is."""


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each file, by its path from the root."""
    files = (file for room in ROOMS for file in sorted(room.rglob("*.py")))
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def entries() -> list[str]:
    """Return the files and folders at the top of the package."""
    hidden = ("__pycache__", "_native")
    return sorted(path.name for path in PACKAGE.iterdir() if not path.name.startswith(hidden))


def lines(*folders: Path) -> int:
    """Return the number of lines of Python below these folders."""
    return sum(len(file.read_bytes().splitlines()) for folder in folders for file in folder.rglob("*.py"))


def rooms_of_a_task(name: str) -> list[str]:
    """Return the rooms with a file that names a task: its folder, model, recipe and command."""
    reference = re.compile(rf"{name}|multihead\.[\w.]*\b{name}\b[\w.:]*")
    overloads = "src/multihead/workflows/loading.py"  # a line a task, for type checkers
    rooms = set()
    for file, tree in trees().items():
        for node in ast.walk(tree):
            text = node.module if isinstance(node, ast.ImportFrom) else getattr(node, "value", None)
            if isinstance(text, str) and reference.fullmatch(text) and file != overloads:
                rooms.add(file.split("/")[2])
    recipes = (file.read_text(encoding="utf-8") for file in (PACKAGE / "recipe" / "built_in").glob("*.toml"))
    return sorted(rooms | ({"recipe"} if any(f"bert_{name}" in text for text in recipes) else set()))


def files_that_name_a_format(ending: str) -> list[str]:
    """Return the files with an ending of a document format in a string, docstrings not counted."""
    return sorted(
        file
        for file, tree in trees().items()
        if any(isinstance(node, ast.Constant) and node.value == ending for node in ast.walk(tree))
    )


def parameters(file: str, name: str) -> list[str]:
    """Return the parameters of a class's constructor, without ``self``."""
    (kind,) = (node for node in trees()[file].body if isinstance(node, ast.ClassDef) and node.name == name)
    (init,) = (node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    arguments = init.args
    return [argument.arg for argument in (*arguments.args[1:], *arguments.kwonlyargs)]


def class_names_in_two_modules() -> dict[str, list[str]]:
    """Return the names of classes that several modules define at their top level, with the modules' files."""
    modules: dict[str, list[str]] = defaultdict(list)
    for file, tree in trees().items():
        for name in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}:
            modules[name].append(file)
    return {name: files for name, files in sorted(modules.items()) if len(files) > 1}


def pairs_of_rooms() -> list[tuple[str, str]]:
    """Return the pairs of rooms that import each other."""
    edges = set()
    for file, tree in trees().items():
        if not file.startswith("src/multihead/"):
            continue
        room = file.split("/")[2].removesuffix(".py")
        for node in ast.walk(tree):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module and module.startswith("multihead."):
                edges.add((room, module.split(".")[1]))
    return sorted((a, b) for a, b in edges if a < b and (b, a) in edges)


def functions() -> Iterator[tuple[str, str]]:
    """Yield the file and the name of every function and method."""
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield file, node.name


def participles() -> list[tuple[str, str]]:
    """Return the functions that are named by a bare participle, with their files."""
    named = []
    for file, name in functions():
        word = name.lstrip("_")
        if word not in NOUNS and (IRREGULAR.fullmatch(word) or re.fullmatch(r"[a-z]+ed", word)):
            named.append((file, name))
    return named


def idiom() -> tuple[int, int]:
    """Return how many assigned names are of the idiom, and how many there are."""
    names = [
        node.id
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return sum(name in IDIOM for name in names), len(names)


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield the file and the text of every docstring."""
    for file, tree in trees().items():
        for node in ast.walk(tree):
            value = node.value if isinstance(node, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield file, value.value


def headless_arguments() -> list[str]:
    """Return the descriptions of arguments that begin with "of": of the source, of which noun?"""
    headless = re.compile(r"^ +(\w+: of [^\n]*)", re.MULTILINE)
    return [f"{file}: {match}" for file, text in docstrings() for match in headless.findall(text)]


def is_no() -> list[str]:
    """Return the phrases "is no X" and "are no X" of docstrings, for "is not an X"."""
    phrase = re.compile(r"\b(?:is|are) no (?!longer|more|fewer|less|other)\w+")
    return [f"{file}: {match}" for file, text in docstrings() for match in phrase.findall(text)]


def recipes_of_a_table() -> list[str]:
    """Return the files of recipes that are the rows of a published table."""
    folder = PACKAGE / "recipe" / "built_in"
    return sorted(file.name for pattern in ("table3*.toml", "gpt3*.toml") for file in folder.glob(pattern))


def table() -> str:
    """Return all counts, a line each."""
    of_idiom, names = idiom()
    rows = (
        ("entries of src/multihead", len(entries())),
        ("lines of Python in src/multihead", lines(PACKAGE)),
        ("the same with packages/documents", lines(PACKAGE, DOCUMENTS)),
        ("rooms that a task like spans lies in", len(rooms_of_a_task("spans"))),
        ("files outside its own that name a document format (.srt)", len(files_that_name_a_format(".srt"))),
        ("parameters of Training", len(parameters("src/multihead/training/loop.py", "Training"))),
        ("pairs of rooms that import each other", len(pairs_of_rooms())),
        ("class names that stand in two modules or more", len(class_names_in_two_modules())),
        ("recipes of a table (table3, gpt3)", len(recipes_of_a_table())),
        (f"functions named by a bare participle, of {len(list(functions())):,}", len(participles())),
        (f"assigned names of the idiom in 1,000, of {names:,}", round(1000 * of_idiom / names, 1)),
        ("descriptions of arguments that begin with 'of'", len(headless_arguments())),
        ("'is no X' in docstrings", len(is_no())),
    )
    return "\n".join(f"{value:>9,}  {name}" for name, value in rows)


if __name__ == "__main__":
    print(table())
