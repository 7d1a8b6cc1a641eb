"""The command ``multihead inspect`` for translators."""

import json
from pathlib import Path

from command_line import Captured, fail, run

from multihead import load


def test_inspect_prints_a_heat_map_or_writes_it_to_a_file(
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


def test_inspect_checks_its_file_extensions_first(capfdbinary: Captured) -> None:
    error = fail(capfdbinary, "inspect", "nowhere", "eins", "-o", "map.xyz")
    assert "map.xyz: the file extension is not supported" in error
    assert ".html" in error
    assert "Use .svg, .png or .pdf." in fail(capfdbinary, "inspect", "nowhere", "eins", "--png", "a.html")


def test_inspect_writes_a_page_its_numbers_and_a_figure(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    page, numbers, image = tmp_path / "page.html", tmp_path / "numbers.json", tmp_path / "map.png"
    asked = ("inspect", trained, "eins zwei", "--target", "two one")
    run(capfdbinary, *asked, "-o", page, "--json", numbers, "--png", image)
    assert "eins zwei" in page.read_text(encoding="utf-8")
    assert json.loads(numbers.read_text(encoding="utf-8"))["hypotheses"][0]["attention"]
    assert image.read_bytes().startswith(b"\x89PNG")
    assert "<iframe" in load(trained).inspect("eins zwei")._repr_html_()
