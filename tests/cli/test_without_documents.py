"""Without multihead-documents lines are translated; a document gives one line that says what to install."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PROGRAM = """
import sys
sys.modules["multihead_documents"] = None
from multihead.cli import main
sys.exit(main(sys.argv[1:]))
"""
MISSING = "multihead-documents is not installed. pip install 'multihead[documents]', or pip install"


def without_library(arguments: Sequence[object], text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def refused(*arguments: object) -> str:
    """Return the one line of the error of a command."""
    done = without_library(arguments)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    return line


def test_lines_are_translated_with_their_tags(trained: Path) -> None:
    done = without_library(["translate", trained], "eins zwei\neins <b>zwei</b>\n\n")
    assert (done.returncode, done.stdout.count("\n")) == (0, 3), done.stderr
    assert done.stdout.count("<b>") == done.stdout.count("</b>") == 1


@pytest.mark.parametrize("name", ["a.docx", "a.html", "notes", "folder"])
def test_a_document_names_what_to_install(trained: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    if name != "folder":
        (tmp_path / name).write_text("eins")
    line = refused("translate", trained, tmp_path / name)
    assert line.startswith(f"multihead: {tmp_path / name}: {MISSING}")


def test_a_run_that_is_missing_is_no_document(trained: Path, tmp_path: Path) -> None:
    assert "no such run folder" in refused("translate", trained, tmp_path / "none")


def test_a_corpus_of_documents_and_align_name_it_too(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text("<tmx/>")
    arguments = ["--src", "a.tmx", "--data.dir", tmp_path, "--source-language", "de"]
    line = refused("train", *arguments, "--target-language", "en", "--run", tmp_path / "run")
    assert line.startswith(f"multihead: {tmp_path / 'a.tmx'}: {MISSING}")
    assert refused("align", "a.txt", "b.txt", "-o", "c.tmx").startswith(
        "multihead: `multihead align` needs multihead-documents, which is not installed. pip install"
    )


def test_what_reads_and_translates_lines_imports_without_the_library() -> None:
    modules = (
        "multihead.tasks.translation.text_methods, multihead.data.pairs, "
        "multihead.apps.serve.app, multihead.cli.serve"
    )
    program = f"import sys; sys.modules['multihead_documents'] = None; import {modules}"
    subprocess.run([sys.executable, "-c", program], check=True)
