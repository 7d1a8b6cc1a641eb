"""Looking at the attention of a trained run."""

import json
from pathlib import Path

from command_line import Captured, fail, run

from multihead.api import load


def test_inspect_draws_in_the_terminal_or_into_a_file(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(capfdbinary, "inspect", trained, "eins zwei", "--target", "two one")
    header, *rows = out.split("\n")
    assert header.split() == ["eins", "zwei"]
    assert [row.split()[0] for row in rows[:2]] == ["two", "one"]
    run(capfdbinary, "inspect", trained, "eins", "--target", "one", "-o", tmp_path / "map.svg")
    assert "<svg" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "there is no layer 7" in fail(
        capfdbinary, "inspect", trained, "eins", "--target", "one", "--layer", 7
    )


def test_inspect_checks_the_names_of_its_files_first(capfdbinary: Captured) -> None:
    told = fail(capfdbinary, "inspect", "nowhere", "eins", "-o", "map.xyz")
    assert "map.xyz: the name does not say which kind of file to write" in told
    assert ".html" in told
    assert "End it with .svg, .png or .pdf." in fail(
        capfdbinary, "inspect", "nowhere", "eins", "--png", "a.html"
    )


def test_inspect_writes_a_page_its_numbers_and_a_picture(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    page, numbers, picture = tmp_path / "page.html", tmp_path / "numbers.json", tmp_path / "map.png"
    asked = ("inspect", trained, "eins zwei", "--target", "two one")
    run(capfdbinary, *asked, "-o", page, "--json", numbers, "--png", picture)
    assert "eins zwei" in page.read_text(encoding="utf-8")
    assert json.loads(numbers.read_text(encoding="utf-8"))["hypotheses"][0]["attention"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "eins zwei" in load(trained).inspect("eins zwei")._repr_html_()
