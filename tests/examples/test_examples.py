"""The scripts of examples/ run as they stand, one after the other on one small run."""

import ast
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from multihead.errors import UserError

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path, *arguments: str) -> str:
    """Run a script in a folder and return what it printed."""
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which train.py has run."""
    place = tmp_path_factory.mktemp("examples")
    lines = run("train.py", place).strip().split("\n")
    assert (place / "runs" / "example" / "model.safetensors").exists()
    assert lines[-1]
    return place


def test_a_search_obeys_a_constraint_of_its_own(folder: Path) -> None:
    words, _, score = run("search.py", folder).strip().rpartition(" ")
    assert words
    assert float(score) < 0


def test_the_attention_of_every_token_sums_to_one(folder: Path) -> None:
    rows = run("attention.py", folder).strip().split("\n")
    assert rows[-1].startswith("</s>: ")
    for row in rows:
        weights = [float(cell.rpartition(" ")[2]) for cell in row.rpartition(": ")[2].split(", ")]
        assert sum(weights) == pytest.approx(1, abs=0.01 * len(weights))


def test_a_document_keeps_its_markup(folder: Path) -> None:
    lines = run("document.py", folder).split("\n")
    assert lines[0].startswith("# ")
    assert lines[0] != "# zweiundvierzig"
    assert lines[2].startswith("- ")
    assert lines[3].startswith("- **")
    assert lines[5].startswith("`code`")


def test_a_layer_of_its_own_learns(tmp_path: Path) -> None:
    losses = [float(line.rpartition(" ")[2]) for line in run("layer.py", tmp_path).strip().split("\n")]
    assert len(losses) == 3
    assert losses[-1] < 0.9 * losses[0]


def show(results: list[Any]) -> list[str]:
    """Return what a notebook displays for the results of its cells."""
    return [result._repr_html_() if hasattr(result, "_repr_html_") else repr(result) for result in results]


def test_the_notebook_displays_tables_and_a_page(folder: Path) -> None:
    notebook = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    results = []
    with contextlib.chdir(folder):
        for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            assert not cell["outputs"]
            *statements, last = ast.parse(cell["source"]).body
            assert isinstance(last, ast.Expr)
            exec(compile(ast.Module(statements, []), "cell", "exec"), names)
            try:
                results.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
            except UserError as error:
                assert "raises-exception" in cell["metadata"]["tags"]
                results.append("\n".join(error._render_traceback_()))
    translator, texts, page, scores, mistake = show(results)
    assert translator.startswith("<Translator runs/example")
    assert "Confidence" in texts
    assert "Alternatives" in texts
    assert "zweiundvierzig" in texts
    assert page.startswith("<iframe")
    assert len(page) < 200_000
    assert "BLEU" in scores
    assert "\n" not in mistake
    assert "beam_size = 0" in mistake
