"""The page of a language model, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import open_browser
from live_texts import gpt, lossless, parts_of

from multihead.inspect.live import assemble

CORNERS = """(() => {
    const canvas = document.querySelector(".mini canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixel = (x, y) => [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x + 1))];
    return [pixel(0, canvas.height - 1), pixel(canvas.width - 1, 0)];
})()"""
NAMELESS = """[...document.querySelectorAll("button, [role=button]")]
    .filter((one) => !one.ariaLabel && !one.textContent.trim()).map((one) => one.outerHTML)"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


def test_it_writes_draws_every_head_and_goes_on_from_a_choice(browser: Any, tmp_path: Path) -> None:
    tokenizer = lossless()
    made = parts_of(gpt(tokenizer), tokenizer)
    assemble("text", made).save(tmp_path / "page.html")
    page = browser.new_page()
    errors: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("html[data-written]", state="attached")
    assert page.locator(".mini canvas").count() == 2 * (3 + 1)
    page.evaluate("delete document.documentElement.dataset.written")
    page.fill("#source", "The queen 漢")
    page.wait_for_selector("html[data-written]", state="attached")
    assert page.evaluate("document.querySelector('#output').textContent").startswith("The queen ")
    assert "1 characters that the vocabulary lacks" in page.inner_text("#output + .foot")
    before = page.locator("#output .token").count()
    page.locator("#output .token").nth(20).click()
    beginning = page.evaluate("document.querySelector('#output').textContent")[:20]
    page.evaluate("delete document.documentElement.dataset.written")
    other = page.locator(".way[aria-pressed=false]").first
    letter = other.locator(".what").inner_text()
    other.click()
    page.wait_for_selector("html[data-written]", state="attached")
    after = page.evaluate("document.querySelector('#output').textContent")
    assert after.startswith(beginning + letter.replace("⏎", "\n").replace("␣", " "))
    assert page.locator("#output .token").count() > before
    # The context has begun anew since the first column's token, which the last row did not see.
    unseen, future = page.evaluate(CORNERS)
    assert unseen == future
    assert page.evaluate(NAMELESS) == []
    page.wait_for_selector("#checked.good")
    page.click("text=한국어")
    assert "모델이 쓰는 글" in page.inner_text("main")
    page.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(("file:", "blob:"))] == []
