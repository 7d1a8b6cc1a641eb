"""The page that translates, in Firefox, opened from disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from firefox import Marionette, open_firefox
from live_pages import page_parts, reversing, vocabulary

from multihead.inspect.live import assemble


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marionette]:
    yield from open_firefox(tmp_path_factory.mktemp("firefox"))


def test_a_text_is_translated_and_every_head_is_drawn(firefox: Marionette, tmp_path: Path) -> None:
    tokenizer = vocabulary()
    made = page_parts(reversing(tokenizer, norm="pre"), tokenizer)
    assemble("small", made).save(tmp_path / "page.html")
    firefox("WebDriver:Navigate", {"url": (tmp_path / "page.html").as_uri()})
    firefox.wait_for("document.documentElement.dataset.ready")
    check = made.facts["checks"][0]
    source, target = (tokenizer.decode(check[side]) for side in ("source", "target"))
    firefox.run(
        "(() => { const area = document.querySelector('#source'); "
        f"area.value = {source!r}; area.dispatchEvent(new Event('input')); }})()"
    )
    firefox.wait_for("document.documentElement.dataset.explained")
    assert firefox.run("document.querySelector('#output').innerText").split() == target.split()
    assert firefox.run("document.querySelectorAll('.mini canvas').length") == 2 * (5 + 1)
    firefox.wait_for("document.querySelector('#checked.good')")
