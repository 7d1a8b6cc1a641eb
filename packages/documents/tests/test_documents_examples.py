"""The examples in the docstrings of ``documents`` are right, and its formats are those of its page."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from document_samples import samples

import multihead_documents
from multihead_documents import FORMATS, format_of, open_document
from multihead_documents.errors import DocumentError

MODULES = ["", *(f".{module.name}" for module in pkgutil.iter_modules(multihead_documents.__path__))]
README = Path(__file__).parents[1] / "README.md"
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "documents.md"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_right(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"multihead_documents{name}")).failed == 0


def test_the_page_names_every_ending() -> None:
    named = set(re.findall(r"`(\.[a-z]+)`", PAGE.read_text(encoding="utf-8")))
    assert named >= {ending for format in FORMATS for ending in format.endings}


def test_every_format_has_a_sample_and_its_reader_says_its_name(tmp_path: Path) -> None:
    files = samples()
    for format in FORMATS:
        names = [name for name in files if Path(name).suffix in format.endings]
        assert names or format.is_table or format.endings == (".xhtml",), format
        for name in names[:1]:
            (tmp_path / name).write_bytes(files[name])
            assert open_document(tmp_path / name, target_language="ko").kind == format.name


def test_a_format_is_told_by_the_ending_of_the_name(tmp_path: Path) -> None:
    assert format_of("Brief.DOCX").name == "docx"
    for name in ("a.pdf", "README", "a.txt.gz"):
        with pytest.raises(DocumentError, match=r"Endings: \.txt"):
            open_document(tmp_path / name)
    with pytest.raises(
        DocumentError, match=r"Save it as \.xlsx, in the program that opens it\. Endings: \.txt"
    ):
        open_document(tmp_path / "a.numbers")


def test_a_document_replaces_a_file_as_a_whole_and_a_pipe_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("eins\n")
    document = open_document(tmp_path / "a.txt")
    document.write({0: "one"}, tmp_path / "a.txt")  # over itself
    assert (tmp_path / "a.txt").read_text() == "one\n"
    document.write({0: "two"}, Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(DocumentError, match="cannot be written"):
        document.write({}, tmp_path / "none" / "a.txt")


def test_the_example_of_the_readme_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    exec(example, {})
    shown = [line.partition("# ")[2] for line in example.splitlines() if "# " in line]
    assert shown
    printed = capsys.readouterr().out
    assert [line for line in shown if line not in printed] == []


def test_the_library_needs_neither_multihead_nor_torch() -> None:
    found = pkgutil.walk_packages(multihead_documents.__path__, "multihead_documents.")
    modules = [module.name for module in found]
    blocked = "import sys; sys.modules['multihead'] = sys.modules['torch'] = None; import "
    subprocess.run([sys.executable, "-c", blocked + ", ".join(modules)], check=True)
