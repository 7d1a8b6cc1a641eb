"""Every kind of report in a real browser: accessible, and nothing cut without a hint."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from accessibility import faults
from browser import open_browser
from reports import a_comparison
from sweeps import sweep_page
from watching import Silent

from multihead.inspect.report import compare_page
from multihead.workflows.train import train


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


@pytest.mark.parametrize("width", [390, 1280])
def test_comparisons_and_sweeps_are_accessible(browser: Any, tmp_path: Path, width: int) -> None:
    for page in (compare_page(a_comparison()).html, sweep_page()):
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        shown = browser.new_page()
        shown.goto((tmp_path / "page.html").as_uri())
        assert faults(shown, width) == []
        shown.close()


def test_the_report_of_a_training_is_accessible(
    browser: Any, tmp_path: Path, small: Callable[..., Any]
) -> None:
    train(small(), tmp_path / "run", Silent())
    page = browser.new_page()
    page.goto((tmp_path / "run" / "report.html").as_uri())
    assert [fault for width in (390, 1280) for fault in faults(page, width)] == []


def test_a_sweep_is_dark_and_korean_at_the_push_of_a_button(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(sweep_page(), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.click("#language")
    assert "바꾼 설정" in page.inner_text("main")
    page.click("#theme")
    assert page.get_attribute("html", "data-theme") == "dark"


def test_faults_are_found(browser: Any) -> None:
    page = browser.new_page()
    page.set_content(
        '<html lang="en"><title>x</title><main><h1 style="color: #999">grey</h1><button></button>'
        '<div style="width: 900px">wide</div><pre tabindex="0" style="overflow: auto; width: 90px">'
        "a line that does not fit</pre></main>"
    )
    rules = {fault.split(": ", 1)[1].split(":")[0] for fault in faults(page, 390)}
    cut = {"scrolls sideways", "wider than the window", "scrolls without a hint"}
    assert rules == {"color-contrast", "button-name", *cut}
