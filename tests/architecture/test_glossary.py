"""docs/reference/glossary.md: one word a concept, in the prose and help texts listed here."""

import re
from pathlib import Path

import pytest

from multihead import cli

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
PROSE = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/how-to/index.md",
    "docs/start/install.md",
    "docs/start/your-corpus.md",
    "examples/README.md",
)
"""Pages that keep to the glossary. To add one, correct it and append its path."""
HELP = ("align", "clean", "doctor", "export", "score", "split", "sweep", "translate", "verify")
"""Commands whose ``--help`` keeps to the glossary."""
CODE = re.compile(r"^```.*?^```|`[^`\n]+`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)


def entries() -> dict[str, list[str]]:
    """Return the words of the glossary, each with the words that it replaces."""
    text = GLOSSARY.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|([^|]*)\|$", text, re.MULTILINE)
    words = {word: [other.strip() for other in others.split(",") if other.strip()] for word, others in rows}
    return {word: others for word, others in words.items() if word not in ("word", "---")}


def replaced(text: str) -> list[str]:
    """Return each word of a text that the glossary replaces, with its replacement."""
    prose = CODE.sub(" ", text)
    return [
        f"{match[0]}: {word}"
        for word, others in entries().items()
        for other in others
        for match in re.finditer(rf"\b{re.escape(other)}s?\b".replace(r"\ ", r"\s+"), prose, re.IGNORECASE)
    ]


def test_the_glossary_is_in_order_and_replaces_no_word_by_two() -> None:
    words = list(entries())
    assert len(words) > 35
    assert words == sorted(words, key=str.lower)
    others = [other for found in entries().values() for other in found]
    assert len(others) == len(set(others))
    assert set(others).isdisjoint(words)


@pytest.mark.parametrize("page", PROSE)
def test_a_page_keeps_to_the_glossary(page: str) -> None:
    assert replaced((ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("command", HELP)
def test_a_help_text_keeps_to_the_glossary(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    text = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", capsys.readouterr().out)
    assert len(text) > 200
    assert replaced(text) == []


def test_the_package_calls_an_image_image() -> None:
    files = (
        file
        for file in (ROOT / "src").rglob("*")
        if file.suffix in (".py", ".js", ".css", ".html", ".toml", ".json")
    )
    places = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        for number, line in enumerate([file.name, *file.read_text(encoding="utf-8").splitlines()])
        if "picture" in line.lower()
    ]
    assert places == []


def test_a_replaced_word_is_found() -> None:
    assert replaced("Two Pictures of a data\nset; `picture.png` [image](picture.md)") == [
        "data\nset: corpus",
        "Pictures: image",
    ]
