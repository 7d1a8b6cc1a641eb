"""The documentation and a chapter of the course in Firefox: accessible, nothing cut, no error."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from accessibility import faults_in_firefox
from firefox import Marionette, open_firefox


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marionette]:
    yield from open_firefox(tmp_path_factory.mktemp("firefox"))


@pytest.mark.parametrize(
    "path", ["index.html", "docs/course/ko/05-self-attention.html", "source/examples/search.py.html"]
)
def test_pages_of_the_site_are_accessible_in_firefox(firefox: Marionette, site: Path, path: str) -> None:
    firefox.goto((site / path).as_uri())
    assert faults_in_firefox(firefox) == []


def test_the_search_finds_a_guide_in_firefox(firefox: Marionette, site: Path) -> None:
    firefox.goto((site / "index.html").as_uri())
    firefox.run(
        "(() => { const search = document.querySelector('#search'); search.value = 'beam size'; "
        "search.dispatchEvent(new Event('input')); })()"
    )
    firefox.wait_for("document.querySelector('#found a')")
    assert firefox.errors() == []
