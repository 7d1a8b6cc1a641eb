"""The commands ``multihead export --to page`` and ``multihead inspect --live``."""

import base64
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import Captured, fail, run
from exported_runs import other_run
from live_sequences import vocabulary
from PIL import Image

from multihead.apps.export import manifest
from multihead.cli import main


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
    """The folder is then altered, which is found."""
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
    (folder / "index.html").write_bytes((folder / "index.html").read_bytes()[:-100])
    assert "damaged" in manifest.faults(folder)["index.html"]


def test_an_inspection_can_be_live(pieced: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    page = tmp_path / "live.html"
    run(capfdbinary, "inspect", pieced, "eins zwei", "--live", "-o", page)
    assert "wasm-unsafe-eval" in page.read_text(encoding="utf-8")
    error = fail(capfdbinary, "inspect", pieced, "eins", "--live", "-o", page, "--head", "1")
    assert "--head: it has no effect on a live page" in error


def test_whole_words_are_exported(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    run(capfdbinary, "export", trained, "--to", "page", "-o", tmp_path / "page.html")
    assert "wasm-unsafe-eval" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_a_page_cannot_express_is_a_user_error(
    training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    rotary = ("--run", tmp_path / "run", "--model.positions", "rotary", "--training.steps", "1")
    run(capfdbinary, *training, *rotary)
    error = fail(capfdbinary, "export", tmp_path / "run", "--to", "page", "-o", tmp_path / "page.html")
    assert 'a page cannot express this model: positions = "rotary"' in error
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


def test_bert_and_vit_become_pages(tmp_path: Path, capfdbinary: Captured) -> None:
    tokenizer = vocabulary()
    widths = {"d_model": 12, "num_layers": 1, "num_heads": 3}
    masked = {**widths, "vocab_size": tokenizer.vocab_size, "max_positions": 43}
    bert = other_run(tmp_path / "bert", "bert", (tokenizer,), **masked).folder
    images = {**widths, "image_size": 15, "channels": 3, "patch_size": 3, "d_ff": 23, "classes": 2}
    vit = other_run(tmp_path / "vit", "vit", (), **images, class_names=("cat", "dog")).folder
    texts, page = tmp_path / "texts.txt", tmp_path / "page.html"
    texts.write_text("ein Hund\nzwei Katzen\n", encoding="utf-8")
    _, output = run(capfdbinary, "export", bert, "--to", "page", "--calibrate", texts, "-o", page)
    assert "its equations give the model's scores in float32" in output
    assert facts_of(page)["examples"] == ["ein Hund", "zwei Katzen"]
    run(capfdbinary, "inspect", bert, "ein [MASK]", "--live", "-o", page)
    assert facts_of(page)["text"] == "ein [MASK]"
    run(capfdbinary, "export", vit, "--to", "page", "-o", page)
    assert facts_of(page)["classes"] == ["cat", "dog"]
    Image.new("RGB", (40, 30), "red").save(tmp_path / "red.png")
    run(capfdbinary, "inspect", vit, tmp_path / "red.png", "--live", "-o", page)
    image = Image.open(io.BytesIO(base64.b64decode(facts_of(page)["image"])))
    assert (image.size, image.getpixel((0, 0))) == ((15, 15), (255, 0, 0))
    assert "no such image" in fail(capfdbinary, "inspect", vit, "gone.png", "--live", "-o", page)


def facts_of(page: Path) -> Any:
    (found,) = re.findall(r'id="facts">([^<]*)<', page.read_text(encoding="utf-8"))
    return json.loads(gzip.decompress(base64.b64decode(found)))
