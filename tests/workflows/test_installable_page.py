"""The installable folder of a page, served over HTTP and opened again without a server."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import open_browser
from live_pages import page_parts, reversing, vocabulary

from multihead.apps.export.live_page import LivePage


@pytest.fixture
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_an_installed_page_opens_without_its_server(browser: Any, tmp_path: Path) -> None:
    tokenizer = vocabulary()
    made = page_parts(reversing(tokenizer, steps=3), tokenizer)
    LivePage("small", made).write_folder(tmp_path / "page")
    handler = functools.partial(Quiet, directory=str(tmp_path / "page"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    page = browser.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    server.shutdown()
    server.server_close()
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    page.fill("#source", "ein Hund")
    page.wait_for_selector("html[data-translated]", state="attached")
    assert errors == []
