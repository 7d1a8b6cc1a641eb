"""The commands ``multihead export --to page`` and ``multihead inspect --live``."""

import json
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead.cli import main
from multihead.export import manifest


@pytest.fixture(scope="module")
def pieced(training: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose vocabulary a page can read."""
    folder = tmp_path_factory.mktemp("runs") / "pieced"
    pieces = ["--tokenizer.kind", "bpe", "--tokenizer.vocab_size", "300", "--training.steps", "3"]
    assert main([*training, *pieces, "--run", str(folder)]) == 0
    return folder


def test_a_run_becomes_one_file_and_an_installable_folder(
    pieced: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "installable"
    _, output = run(capfdbinary, "export", pieced, "--to", "page", "-o", page, "--pwa", folder)
    assert "greedy translations equal the model's" in output
    text = page.read_text(encoding="utf-8")
    assert "manifest.webmanifest" not in text
    assert "worker-src blob:;" in text
    files = {file.name for file in folder.iterdir()}
    assert files == {
        "index.html", "manifest.webmanifest", "service-worker.js", "icon-192.png", "icon-512.png",
        "export.json",
    }  # fmt: skip
    assert manifest.faults(folder) == {}
    installable = (folder / "index.html").read_text(encoding="utf-8")
    assert "worker-src blob: 'self';" in installable
    assert "manifest-src 'self'" in installable
    about = json.loads((folder / "manifest.webmanifest").read_text(encoding="utf-8"))
    assert {icon["src"] for icon in about["icons"]} <= files
    assert about["start_url"] == "./"


def test_an_installable_folder_that_was_altered_is_found(
    pieced: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    folder = tmp_path / "installable"
    run(capfdbinary, "export", pieced, "--to", "page", "--pwa", folder)
    (folder / "index.html").write_bytes((folder / "index.html").read_bytes()[:-100])
    assert "damaged" in manifest.faults(folder)["index.html"]


def test_an_inspection_can_be_live(pieced: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    page = tmp_path / "live.html"
    run(capfdbinary, "inspect", pieced, "eins zwei", "--live", "-o", page)
    assert "wasm-unsafe-eval" in page.read_text(encoding="utf-8")
    error = fail(capfdbinary, "inspect", pieced, "eins", "--live", "-o", page, "--head", "1")
    assert "--head: it has no effect on a live page" in error


def test_what_a_page_cannot_express_is_a_user_error(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    error = fail(capfdbinary, "export", trained, "--to", "page", "-o", tmp_path / "page.html")
    assert "a vocabulary of kind WordLevel, not BPE or unigram" in error
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no file was given"),
        (["-o", "page.txt"], "a page is an .html file"),
        (["-o", "nowhere/page.html"], "nowhere"),
        (["-o", "page.html", "--quantization", "int8"], "--quantization: it has no effect"),
    ],
)
def test_impossible_arguments_are_refused_before_anything_is_computed(
    arguments: list[str],
    told: str,
    pieced: Path,
    tmp_path: Path,
    capfdbinary: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in fail(capfdbinary, "export", pieced, "--to", "page", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_options_of_a_page_are_refused_elsewhere(pieced: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    error = fail(capfdbinary, "export", pieced, "--to", "sentencepiece", "-o", tmp_path / "x", "--exact")
    assert "--exact: it has no effect without --to page" in error
