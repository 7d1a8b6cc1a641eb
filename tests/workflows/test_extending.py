"""docs/how-to/extending.md: its files, recipes and commands work as described."""

import random
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import multihead
from multihead.cli import main
from multihead.recipe import load
from multihead.run import Run
from multihead.system import plugins

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "extending.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUICK = ("--method", "greedy", "--max-extra", "2")
SHORT = ("--training.steps", "4", "--training.threads", "1")


def blocks() -> Iterator[tuple[str, str]]:
    """Yield language and content of each code block of the page."""
    yield from BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's files, a corpus and a table of numbers."""
    folder = tmp_path_factory.mktemp("extending")
    for kind, text in blocks():
        if kind in ("python", "toml") and (name := re.match(r"# ([\w-]+\.\w+)\n", text)):
            (folder / name[1]).write_text(text, encoding="utf-8")
    chance = random.Random(3)
    words = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
    lines = [" ".join(chance.choices(words, k=chance.randint(1, 5))) for _ in range(211)]
    (folder / "train.de").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "train.en").write_text("".join(f"{line.upper()}\n" for line in lines), encoding="utf-8")
    rows = ((chance.random(), chance.random()) for _ in range(211))
    (folder / "numbers.csv").write_text("".join(f"{a},{b},{3 * a - 2 * b + 1}\n" for a, b in rows))
    return folder


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Every test begins like a new process: no file is named, and nothing was executed."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    for name in ("_named", "_known", "_modules"):
        monkeypatch.setattr(plugins, name, {})


def commands() -> list[list[str]]:
    lines = [line for kind, text in blocks() if not kind for line in text.split("\n") if line]
    return [shlex.split(line)[1:] for line in lines]


def test_the_pages_commands_work(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    done = []
    for words in commands():
        words = [{"<": "-i"}.get(word, word) for word in words]  # no standard input inside this process
        more: tuple[str, ...] = QUICK if words[0] in ("translate", "evaluate") else SHORT
        if "columns.toml" in words:
            more = ()
        if "--help" in words:
            with pytest.raises(SystemExit):
                main(words)
            assert b"Width of embeddings and states. [256]" in capfdbinary.readouterr().out
        else:
            assert main([*words, *more]) == 0
        done.append(words[0])
    assert done == ["train", "train", "train", "translate", "evaluate", "train"]
    kind = plugins.name_file("gru.py")
    assert load("gru.toml").kind == kind
    assert capfdbinary.readouterr().out.count(b"\n") > 211
    translator = multihead.load("runs/gru", model_file="gru.py")
    assert isinstance(translator.translate(["eins zwei drei"])[0].text, str)


def test_the_pages_task_learns_and_is_loaded(folder: Path) -> None:
    if not Run.exists("runs/columns"):
        assert main(["train", "columns.toml", "--run", "runs/columns", "--model.file", "columns.py"]) == 0
    model = multihead.load("runs/columns", model_file="columns.py")
    assert model.linear.weight[0].tolist() == pytest.approx([3, -2], abs=0.2)  # type: ignore[attr-defined]
