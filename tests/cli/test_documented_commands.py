"""Commands, recipes and options in README and docs exist, and every help fits the terminal."""

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from multihead import recipe as recipes
from multihead.cli import commands, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EACH_TASK = (
    "quickstart",
    "small-gpt",
    "small-bert",
    "small-bert-classes",
    "small-vit",
    "small-dalle",
    "small-bert-tags",
    "small-bert-pairs",
    "small-bert-spans",
    "small-detr",
    "odd-digit",
)
"""One recipe per task; together their helps list all keys."""
EVERYWHERE = {"--help", "--version", "--debug", "--model.file"}
BLOCK = re.compile(r"^```\n(.*?)^```", re.DOTALL | re.MULTILINE)


def documented(page: str) -> Iterator[list[str]]:
    """Yield the words after ``multihead`` of each command in code blocks and in inline code."""
    lines = "".join(BLOCK.findall(page)).replace("\\\n", " ").split("\n")
    inline = re.findall(r"`([^`]+)`", BLOCK.sub("", page))
    for line in (*lines, *(" ".join(code.split()) for code in inline)):
        for part in re.split(r"\s(?:\||&&)\s", line):
            if part.startswith("multihead "):
                yield shlex.split(part, comments=True)[1:]


@cache
def help_of(*words: str) -> str:
    """Return the help of a command."""
    shown = io.StringIO()
    with redirect_stdout(shown), pytest.raises(SystemExit):
        main([*words, "--help-all"])
    return shown.getvalue()


@cache
def options_of(name: str, recipe: str | None) -> set[str]:
    """Return the options of a command, with _ as -; without a recipe, `train` has those of every task."""
    helps = ""
    for given in ([recipe] if recipe else EACH_TASK) if name == "train" else [""]:
        helps += help_of(name, *filter(None, [given]))
    options = re.findall(r"(?<!\S)--?[A-Za-z][\w.-]*", helps)
    further = options_of("train", "quickstart") if name == "quickstart" else set()
    return {option.replace("_", "-") for option in options} | further | EVERYWHERE


def test_commands_are_found_in_a_page() -> None:
    page = "`multihead train\nx` and\n```\necho a | multihead translate r \\\n < b\nmultihead\n```\n"
    assert list(documented(page)) == [["translate", "r", "<", "b"], ["train", "x"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_commands_recipes_and_options_exist(page: Path) -> None:
    for name, *words in documented(page.read_text(encoding="utf-8")):
        if name.startswith("-") or name == "COMMAND":
            continue
        command = shlex.join(["multihead", name, *words])
        assert name in commands(), command
        recipe = None
        if name == "train" and words and re.match(r"[a-z]", words[0]) and not words[0].endswith(".toml"):
            recipe = words[0]
            recipes.load(recipe)
        used = {word.replace("_", "-") for word in words if re.match(r"--?[A-Za-z]", word)}
        for option in used:
            # --data.tests.NAME is an entry of --data.tests.
            assert {option, option.rpartition(".")[0]} & options_of(name, recipe), command


@pytest.mark.parametrize("name", commands())
def test_help_of_every_command_fits_into_80_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    help_of.cache_clear()
    assert max(map(cell_len, help_of(name).split("\n"))) <= 80
