"""The examples in the docstrings of ``documents`` are right, and its formats are those of its page."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import multihead_documents
import pytest
from multihead_documents import KINDS, kind_of, open_document

from multihead.errors import UserError

MODULES = ["", *(f".{module.name}" for module in pkgutil.iter_modules(multihead_documents.__path__))]
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "documents.md"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_right(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"multihead_documents{name}")).failed == 0


def test_the_page_names_every_ending() -> None:
    assert set(re.findall(r"`(\.[a-z]+)`", PAGE.read_text(encoding="utf-8"))) >= set(KINDS)


def test_a_format_is_told_by_the_ending_of_the_name(tmp_path: Path) -> None:
    assert kind_of("Brief.DOCX") == "docx"
    for name in ("a.pdf", "README", "a.txt.gz"):
        with pytest.raises(UserError, match=r"Endings: \.txt"):
            open_document(tmp_path / name)
    with pytest.raises(UserError, match=r"Save it as \.xlsx, in the program that opens it\. Endings: \.txt"):
        open_document(tmp_path / "a.numbers")


def test_a_document_replaces_a_file_as_a_whole_and_a_pipe_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("eins\n")
    document = open_document(tmp_path / "a.txt")
    document.write({0: "one"}, tmp_path / "a.txt")  # over itself
    assert (tmp_path / "a.txt").read_text() == "one\n"
    document.write({0: "two"}, Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(UserError, match="cannot be written"):
        document.write({}, tmp_path / "none" / "a.txt")
