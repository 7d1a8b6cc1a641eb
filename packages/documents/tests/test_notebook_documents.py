"""Jupyter notebooks: Markdown cells are translated in place, and everything else is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from multihead_documents import Document, Markup, open_document
from multihead_documents.errors import DocumentError

nbformat: Any = pytest.importorskip("nbformat")


def cell(kind: str, source: str | list[str]) -> dict[str, Any]:
    code: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {
        "id": f"c{abs(hash(str(source))) % 10**6}",
        "cell_type": kind,
        "metadata": {},
        "source": source,
        **code,
    }


NOTEBOOK = {
    "cells": [
        cell("markdown", ["# Title\n", "\n", "Some **text** with $x_1$\n", "on two lines.\n"]),
        cell("code", ["# a comment\n", "print('text')\n"]),
        cell("markdown", "One string: `code`"),
        cell("markdown", []),
        cell("markdown", ["- 첫째"]),
        cell("raw", ["raw text"]),
    ],
    "metadata": {"title": "kept", "kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def opened(folder: Path, text: str) -> Document:
    (folder / "a.ipynb").write_text(text, encoding="utf-8", newline="")
    return open_document(folder / "a.ipynb")


def in_capitals(document: Document) -> dict[int, Markup]:
    return {
        s.number: Markup.of(*(p.upper() if isinstance(p, str) else p for p in s.source.pieces))
        for s in document.segments
    }


@pytest.mark.parametrize("indent", [None, 1, 2])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_markdown_cells_are_translated_and_all_else_is_kept(
    indent: int | None, ascii_only: bool, tmp_path: Path
) -> None:
    text = json.dumps(NOTEBOOK, indent=indent, ensure_ascii=ascii_only) + "\n"
    document = opened(tmp_path, text)
    assert [str(segment.source) for segment in document.segments] == [
        "Title",
        "Some {1}text{/1} with {2/} on two lines.",
        "One string: {1/}",
        "첫째",
    ]
    assert [segment.place.partition("a.ipynb")[2] for segment in document.segments] == [
        ": cell 1:1",
        ": cell 1:3",
        ": cell 3:1",
        ": cell 5:1",
    ]
    assert document.render({}).decode() == text
    written = document.render(in_capitals(document)).decode()
    found = nbformat.reads(written, as_version=4)
    nbformat.validate(found)
    assert [one["source"] for one in found["cells"]] == [
        "# TITLE\n\nSOME **TEXT** WITH $x_1$ ON TWO LINES.\n",
        "# a comment\nprint('text')\n",
        "ONE STRING: `code`",
        "",
        "- 첫째",
        "raw text",
    ]
    expected = json.loads(text)
    lines = ["# TITLE\n", "\n", "SOME **TEXT** WITH $x_1$ ON TWO LINES.\n"]
    expected["cells"][0]["source"], expected["cells"][2]["source"] = lines, "ONE STRING: `code`"
    assert written == json.dumps(expected, indent=indent, ensure_ascii=ascii_only) + "\n"


def test_a_line_becomes_several_where_the_only_one_had_its_own(tmp_path: Path) -> None:
    document = opened(tmp_path, '{"cells": [{"cell_type": "markdown", "source": [\n  "a\\n\\nb"\n]}]}')
    written = document.render({0: Markup.of("x")}).decode()
    assert json.loads(written)["cells"][0]["source"] == ["x\n", "\n", "b"]
    assert '"x\\n",\n  "\\n",\n  "b"\n]' in written


def test_a_source_that_is_there_twice_stays_json(tmp_path: Path) -> None:
    document = opened(
        tmp_path, '{"cells": [{"cell_type": "markdown", "source": ["a"], "source": "b", "source": ["c"]}]}'
    )
    written = document.render(in_capitals(document)).decode()
    assert (
        written == '{"cells": [{"cell_type": "markdown", "source": ["A"], "source": "B", "source": ["C"]}]}'
    )


@pytest.mark.parametrize("text", ["{}", '{"a": "b"}', "[1]", '{"cells": ', '["cells"]'])
def test_what_is_no_notebook_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as error:
        opened(tmp_path, text)
    assert error.value.remedy
