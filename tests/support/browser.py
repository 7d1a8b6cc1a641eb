"""Pages in a real browser: the system's Chromium, driven by Playwright. Tests skip without them."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from multihead.inspect.page import make_page
from multihead.inspect.page.html import Explored

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install '.[browser]'")
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
if BROWSER is None:
    pytest.skip("no Chromium on this machine", allow_module_level=True)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def open_browser(profile: Path) -> Iterator[Any]:
    """Yield a browser and close it."""
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile,
            executable_path=BROWSER,
            headless=True,
            args=QUIET,
            viewport={"width": 1200, "height": 800},
        )
        context.set_default_timeout(20_000)
        yield context
        context.close()


class PageInBrowser:
    """A page in the browser, with its console messages and network requests."""

    def __init__(self, browser: Any, explored: Explored, path: Path) -> None:
        make_page(explored).save(path)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page()
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def tab(self, name: str) -> None:
        self.page.click(f"#tab-{name}")

    def choose(self, control: str, value: str) -> None:
        self.page.click(f'[data-control="{control}"] label:has(input[value="{value}"])')

    def switch(self, control: str) -> None:
        self.page.click(f'label[data-control="{control}"]')

    def export(self, figure: str, kind: str) -> bytes:
        with self.page.expect_download() as waiting:
            self.page.click(f'[data-figure="{figure}"] .export button:text-is("{kind}")')
        assert waiting.value.suggested_filename == f"{figure}.{kind.lower()}"
        return Path(waiting.value.path()).read_bytes()
