"""A report in a real browser: opened from disk, sorted by keyboard, in light and dark."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reports import a_comparison, hostile_comparison

from multihead.inspect.report import RunComparison, compare_page

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install '.[browser]'")
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")


class Opened:
    """A report in the browser, with its console messages and network requests."""

    def __init__(self, page: Any, compared: RunComparison, path: Path) -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        compare_page(compared).save(path)
        page.goto(path.as_uri())

    def lines(self) -> list[int]:
        items = self.page.query_selector_all("#sentences-0 > li")
        return [-json.loads(item.get_attribute("data-keys"))["order"] for item in items]

    def background(self) -> str:
        found: str = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=BROWSER,
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"],
            viewport={"width": 1200, "height": 800},
        )
        context.set_default_timeout(20_000)
        yield context
        context.close()


def test_a_report_is_sorted_by_keyboard_and_follows_light_and_dark(browser: Any, tmp_path: Path) -> None:
    shown = Opened(browser.new_page(), a_comparison(), tmp_path / "report.html")
    page = shown.page
    assert shown.lines() == [7, 3]
    page.focus("select[data-sorts]")
    page.keyboard.press("End")  # order of the test set
    assert shown.lines() == [3, 7]
    page.emulate_media(color_scheme="dark")
    dark = shown.background()
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert shown.background() != dark
    assert page.inner_text("#theme") == "Dark"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.errors == []
    assert [url.partition(":")[0] for url in shown.requests] == ["file"]


def test_hostile_text_is_displayed_and_not_executed(browser: Any, tmp_path: Path) -> None:
    shown = Opened(browser.new_page(), hostile_comparison(), tmp_path / "report.html")
    assert "<script>window.hacked=1</script>" in shown.page.inner_text("#sentences-0")
    assert shown.page.evaluate("window.hacked === undefined")
    assert shown.errors == []
    assert len(shown.requests) == 1


def test_a_report_speaks_korean_and_back(browser: Any, tmp_path: Path) -> None:
    shown = Opened(browser.new_page(), a_comparison(), tmp_path / "report.html")
    page = shown.page
    english = page.inner_text("main")
    page.click("#language")
    korean = page.inner_text("main")
    assert page.get_attribute("html", "lang") == "ko"
    assert "참조 번역" in korean
    assert "Underlined words" not in korean
    page.click("#language")
    assert page.inner_text("main") == english
    assert shown.errors == []
    page.close()
