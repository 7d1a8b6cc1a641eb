"""The documentation in a real browser: accessible, nothing cut without a hint, guides found."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accessibility import faults
from browser import open_browser

PAGES = (
    "index.html",
    "docs/how-to/index.html",
    "docs/course/en/09-training.html",
    "docs/course/ko/05-self-attention.html",
    "docs/how-to/documents.ko.html",
    "docs/reference/glossary.html",
    "reference/commands.html",
    "reference/settings.html",
    "reference/api/nn.html",
    "source/examples/search.py.html",
    "ARCHITECTURE.html",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


@pytest.mark.parametrize("path", PAGES)
def test_pages_of_the_site_are_accessible(browser: Any, site: Path, path: str) -> None:
    page = browser.new_page()
    page.goto((site / path).as_uri())
    assert [fault for width in (390, 1280) for fault in faults(page, width)] == []
    page.close()


@pytest.mark.parametrize(
    ("query", "guide"),
    [
        ("beam size", "docs/course/en/10-searching.html"),
        ("vocab size", "docs/start/your-corpus.html"),
        ("How many epochs?", "docs/start/your-corpus.html"),
    ],
)
def test_the_search_finds_guides_before_the_reference(
    browser: Any, site: Path, query: str, guide: str
) -> None:
    paths = found_by(browser, site, query)
    generated = [path.startswith("reference/") for path in paths if not re.search(r"/ko/|\.ko\.", path)]
    assert generated == sorted(generated)
    assert paths[0].startswith(guide)


@pytest.mark.parametrize(
    ("start", "query", "first"),
    [
        ("README.ko.html", "vocab size", "docs/start/your-corpus.ko.html"),
        ("README.ko.html", "용어집", "docs/how-to/serve.ko.html"),
        ("index.html", "용어집", "docs/course/README.html"),  # its table of Korean terms
    ],
)
def test_the_search_finds_pages_in_the_readers_language_first(
    browser: Any, site: Path, start: str, query: str, first: str
) -> None:
    paths = found_by(browser, site, query, start)
    assert paths[0].startswith(first)
    english = [not re.search(r"/ko/|\.ko\.", path) for path in paths]
    assert english == sorted(english, reverse=start == "index.html")


def test_the_search_finds_an_identifier_typed_in_full(browser: Any, site: Path) -> None:
    paths = found_by(browser, site, "attention_weights")
    assert paths[0] == "reference/api/nn.html#nn.attention.attention_weights"


def found_by(browser: Any, site: Path, query: str, start: str = "index.html") -> list[str]:
    """Return the addresses that a search finds, best first."""
    page = browser.new_page()
    page.goto((site / start).as_uri())
    page.fill("#search", query)
    page.wait_for_selector("#found a")
    paths = page.eval_on_selector_all("#found a", "links => links.map((link) => link.getAttribute('href'))")
    page.close()
    return [path.removeprefix("./") for path in paths]
