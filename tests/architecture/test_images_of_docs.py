"""The images of the documentation are all made by docs/images.py, and all used."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("images_of_docs", ROOT / "docs" / "images.py")
assert spec is not None
assert spec.loader is not None
images: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(images)


def test_every_image_is_made_by_the_command_and_used_by_a_page() -> None:
    files = {path.name for path in (ROOT / "docs" / "images").iterdir()}
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    used = {name for page in pages for name in re.findall(r"images/([\w-]+\.\w+)", page.read_text("utf-8"))}
    assert files == images.MAKERS.keys()
    assert files == used


def test_plots_are_made_from_results_and_a_missing_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["depth", "gradients", "complexity", "compare"]
    monkeypatch.setattr(sys, "argv", ["images.py", "runs", "--out", str(tmp_path), "--only", *names])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as failed:
        images.main()
    assert str(failed.value) == "not made:\ncompare.png: needs runs/ladder: multihead sweep ladder"
    assert {path.name for path in tmp_path.iterdir()} == {"depth.svg", "gradients.svg", "complexity.svg"}
