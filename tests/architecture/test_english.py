"""The project's English: the field's terms, conclusion first, no docstring that opens with a question word.

``python tests/architecture/test_english.py [PATH ...]`` lists every finding, one a line.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "multihead"

OPENERS = re.compile(r"(What|Who|Whom|Whose|How|Which|Where|Whether|That)\b")
"""First words of a docstring that does not say what the thing is."""

INSTEAD = {
    r"\b(train|product|translat|multipl|learn|layer|gradient|comput)\w* (in|of) bytes\b": "int8",
    r"\blikeliest\b": "most probable; top-k",
    r"\bstands? between spaces\b": "white-space tokens",
    r"\b(look(s|ed|ing)?) (back )?at\b": "attends to; inspects; checks; reads",
    r"\bis a look\b|\ba look (is|into|at)\b": "attention; inspection",
    r"\b(is|are|be|was|were) told\b|\btold of\b|\btells? (of|whether|that)\b": "reported, logged",
    r"\b(gone|goes|go|going|went) on with\b": "resumed; continued with",
    r"\broads? of\b": "one module per task",
    r"\bbeside (other|a busy)\b": "under load",
    r"\bfor two readers\b": "two consumers",
    r"\bknow(s)? nothing of\b": "does not depend on",
    r"\bis odd about\b": "sanity checks",
    r"\bwho asks for\b": "with ...",
    r"\bit is looked\b": "is checked",
}
"""Phrases that read as translated, and the term of the field."""


def strings(file: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield every string of a Python file: its line, its text, whether it is a docstring."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    # A string that is a statement documents what it stands in, or the attribute before it.
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) in documented


def findings(file: Path) -> Iterator[str]:
    """Yield what a file of code or prose says that STYLE would say otherwise."""
    place = file.relative_to(ROOT).as_posix()
    prose = [(1, file.read_text(encoding="utf-8"), False)] if file.suffix != ".py" else []
    parts = prose or list(strings(file))
    for line, text, documents in parts:
        if documents and (found := OPENERS.match(text)):
            yield f"{place}:{line}: a docstring opens with {found[0]!r}"
        for pattern, better in INSTEAD.items():
            for found in re.finditer(pattern, text, re.IGNORECASE):
                at = line + text.count("\n", 0, found.start())
                phrase = " ".join(found[0].split())
                yield f"{place}:{at}: {phrase!r}, rather {better}"


def files(*paths: Path) -> list[Path]:
    """Return the code and prose below these paths."""
    return [
        file
        for path in paths
        for file in ([path] if path.is_file() else sorted(path.rglob("*")))
        if file.suffix in (".py", ".md", ".toml") and "__pycache__" not in file.parts
    ]


PROSE = [
    ROOT / "docs",
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING")),
]
ROOMS = sorted(path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())


@pytest.mark.parametrize("path", [*ROOMS, *PROSE], ids=lambda path: path.stem)
def test_the_english_is_the_fields(path: Path) -> None:
    assert [found for file in files(path) for found in findings(file)] == []


@pytest.mark.parametrize(
    "fault",
    [
        '"""What a run says."""',
        'WIDTH = 3\n"""How wide a beam is."""',
        '"""Products."""\nHELP = "trains in bytes where that is faster"',
        '"""Beam search."""\ndef f():\n    """The likeliest of a row."""',
    ],
)
def test_a_fault_in_the_english_is_seen(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "fault.py"
    file.write_text(fault, encoding="utf-8")
    assert list(findings(file))


if __name__ == "__main__":
    for each in files(*(map(Path.absolute, map(Path, sys.argv[1:])) if sys.argv[1:] else [PACKAGE, *PROSE])):
        print(*findings(each), sep="\n", end="\n" if any(findings(each)) else "")
