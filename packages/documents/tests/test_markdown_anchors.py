"""Links within a page of Markdown still lead to its headings after these are translated."""

import json
from pathlib import Path

import pytest

from multihead_documents import Markup, open_document


def translated(folder: Path, name: str, text: str) -> str:
    """Return a document all of whose texts are translated by their reversal."""
    (folder / name).write_text(text)
    document = open_document(folder / name)
    targets = {one.number: one.source.text[::-1] for one in document.segments if not one.source.tags}
    return document.render(targets).decode()


@pytest.mark.parametrize(
    ("heading", "link"),
    [
        ("# Set up & more", "set-up--more"),  # GitHub
        ("# Set up & more", "set-up-more"),  # Python-Markdown
        ("# Set up & more", "Set-up-&-more"),  # Jupyter
        ("> ## 설치 방법 #", "%EC%84%A4%EC%B9%98-%EB%B0%A9%EB%B2%95"),
        ("Set up & more\n---", "set-up-more"),
        ("- # One, two", "one-two"),
    ],
)
@pytest.mark.parametrize("form", ["[a](#{}) b", "[a] b\n\n[a]: #{}", '<a href="#{}">a</a> b', "- [a](<#{}>)"])
def test_a_heading_that_a_link_names_gets_an_anchor(
    heading: str, link: str, form: str, tmp_path: Path
) -> None:
    result = translated(tmp_path, "a.md", f"{heading}\n\n{form.format(link)}\n")
    words = heading.strip("> #-\n")
    name = "설치-방법" if "%" in link else link
    assert f'<a id="{name}"></a>{words[::-1]}' in result
    assert f"#{link}" in result


@pytest.mark.parametrize(
    ("heading", "link"),
    [("![logo](a.png) One", "one"), ("The `f` of **it**", "the-f-of-it"), ("See [it](http://a.b)", "see-it")],
)
def test_code_and_links_in_a_heading_name_it_and_pictures_do_not(
    heading: str, link: str, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(f"# {heading}\n\n[a](#{link}) b\n")
    document = open_document(tmp_path / "a.md")
    source = document.segments[0].source
    pieces = (f"{piece}x" if isinstance(piece, str) else piece for piece in source.pieces)
    assert f'# <a id="{link}"></a>' in document.render({0: Markup.of(*pieces)}).decode()


def test_equal_headings_are_counted(tmp_path: Path) -> None:
    result = translated(tmp_path, "a.md", "# One\n\n[b](#one-1) c\n\n# One\n")
    assert result == '# enO\n\n[b](#one-1) c\n\n# <a id="one-1"></a>enO\n'


@pytest.mark.parametrize(
    "page",
    [
        "# One\n\nnothing\n",
        "# One {#one}\n\n[a](#one) b\n",
        '<a name="one"></a>\n\n# One\n\n[a](#one) b\n',
        "# One\n\n[a](other.md#one) b\n",
        "# ABBA\n\n[a](#abba) b\n",  # the words stay
        "# One\n\n[a](#) b [c](#two) d\n",
    ],
)
def test_others_get_none(page: str, tmp_path: Path) -> None:
    assert translated(tmp_path, "a.md", page).count("<a") == page.count("<a")


def test_code_that_looks_like_an_id_is_none(tmp_path: Path) -> None:
    page = '# One\n\n[a](#one) b\n\n```toml\nname = "one"\n```\n'
    assert translated(tmp_path, "a.md", page).startswith('# <a id="one"></a>enO')


def test_cells_of_a_notebook_link_to_each_other(tmp_path: Path) -> None:
    cells = [{"cell_type": "markdown", "source": [text]} for text in ("- [a](#Load-data) b", "# Load data")]
    result = json.loads(translated(tmp_path, "a.ipynb", json.dumps({"cells": cells, "nbformat": 4})))
    assert result["cells"][1]["source"] == ['# <a id="Load-data"></a>atad daoL']
