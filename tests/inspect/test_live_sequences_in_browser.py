"""The pages of BERT and ViT, in a real browser."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from browser import open_browser
from live_sequences import NAMES, classifier, image_page, masked, masked_page, vocabulary
from PIL import Image

from multihead.apps.export.page import PageParts
from multihead.inspect.live import assemble
from multihead.tasks.images.image_classifier import ImageClassifier
from multihead.tasks.masked.mask_filler import MaskFiller


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


class Opened:
    """A page in the browser, and what it did: messages of errors, and addresses it asked for."""

    def __init__(self, browser: Any, made: PageParts, folder: Path, **facts: Any) -> None:
        blocks = replace(made, facts={**made.facts, **facts})
        assemble("small", blocks).save(folder / "page.html")
        self.page = browser.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto((folder / "page.html").as_uri())

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "blob:")):
            self.faults.append(request.url)

    def after(self, name: str, action: Any) -> None:
        """Wait until an action has its result."""
        self.page.evaluate(f"delete document.documentElement.dataset.{name}")
        action()
        self.page.wait_for_selector(f"html[data-{name}]", state="attached")

    def close(self) -> None:
        self.page.set_viewport_size({"width": 360, "height": 740})
        assert self.page.evaluate("document.documentElement.scrollWidth") <= 360
        self.page.close()
        assert self.faults == []


def test_a_text_is_filled_while_one_types_and_a_choice_is_put_in(browser: Any, tmp_path: Path) -> None:
    tokenizer = vocabulary()
    model = masked(tokenizer)
    opened = Opened(browser, masked_page(model, tokenizer), tmp_path)
    page = opened.page
    page.wait_for_selector("html[data-filled]", state="attached")
    assert page.locator("#output .token[data-hidden]").count() == 1  # an example, with a hidden token
    assert page.locator(".mini canvas").count() == 2 * (3 + 1)
    text = "ein Hund [MASK] über die Wiese"
    opened.after("filled", lambda: page.fill("#source", text))
    filled = MaskFiller(model, tokenizer, device=torch.device("cpu"), precision="fp32").fill(text, 8)
    assert page.evaluate("document.querySelector('#output').textContent") == filled.text
    ways = page.locator(".way .what").all_inner_texts()
    assert ways == [way.piece.replace("▁", "␣") for way in filled.gaps[0]]
    shares = page.locator(".way small").all_inner_texts()
    for share, way in zip(shares, filled.gaps[0], strict=True):
        expected = "< 1 %" if way.probability < 0.01 else f"{round(100 * way.probability)} %"
        assert share == expected
    opened.after("filled", lambda: page.locator(".way").nth(2).click())
    assert page.locator("#output .token[data-hidden]").count() == 0
    assert filled.gaps[0][2].piece.strip("▁") in page.inner_text("#output")
    page.focus("#output")
    page.keyboard.press("Home")
    opened.after("filled", lambda: page.keyboard.press("Enter"))
    assert page.locator("#output .token").first.get_attribute("data-hidden") == ""
    opened.after("filled", lambda: page.keyboard.press(" "))
    assert page.locator("#output .token[data-hidden]").count() == 0
    page.wait_for_selector("#checked.good")
    page.click("text=한국어")
    assert "채운 글" in page.inner_text("main")
    page.click("text=English")  # the browser remembers it
    opened.close()


def png(folder: Path, height: int = 37, width: int = 52) -> Path:
    pixels = np.random.default_rng(3).integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "image.png")
    return folder / "image.png"


def test_an_image_is_classified_and_every_head_follows_the_chosen_patch(browser: Any, tmp_path: Path) -> None:
    model = classifier()
    opened = Opened(browser, image_page(model), tmp_path)
    page = opened.page
    page.wait_for_selector(".invite")
    file = png(tmp_path)
    opened.after("classified", lambda: page.set_input_files("#file", file))
    expected = ImageClassifier(model, device=torch.device("cpu"), precision="fp32")
    (found,) = expected.classify([file])
    assert page.locator("#output .what").all_inner_texts() == list(found.probabilities)
    assert set(NAMES) == set(found.probabilities)
    shares = page.locator("#output small").all_inner_texts()
    for share, probability in zip(shares, found.probabilities.values(), strict=True):
        assert share == ("< 1 %" if probability < 0.01 else f"{round(100 * probability)} %")
    assert page.locator(".mini canvas").count() == 2 * (3 + 1)
    assert "class token" in page.inner_text(".map-title")
    before = page.evaluate("document.querySelector('.large canvas').toDataURL()")
    page.focus(".large canvas")
    page.keyboard.press("ArrowRight")
    assert "patch in row 3, column 3" in page.inner_text(".map-title")
    page.keyboard.press("ArrowDown")
    assert "patch in row 4, column 3" in page.inner_text(".map-title")
    assert page.evaluate("document.querySelector('.large canvas').toDataURL()") != before
    page.keyboard.press("Escape")
    assert "class token" in page.inner_text(".map-title")
    (tmp_path / "text.png").write_text("no image")
    page.set_input_files("#file", tmp_path / "text.png")
    page.wait_for_selector(".refused")
    page.wait_for_selector("#checked.good")
    page.click("text=한국어")
    assert "그림 고르기" in page.inner_text("main")
    page.click("text=English")
    opened.close()


def test_a_dropped_image_and_one_that_the_page_brings_are_read(browser: Any, tmp_path: Path) -> None:
    content = base64.b64encode(png(tmp_path, 15, 15).read_bytes()).decode()
    opened = Opened(browser, image_page(classifier(pooling="mean"), exact=False), tmp_path, image=content)
    page = opened.page
    page.wait_for_selector("html[data-classified]", state="attached")
    first = page.inner_text("#output")
    drop = """content => {
      const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
      document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
    }"""
    opened.after("classified", lambda: page.evaluate(drop, content))
    assert page.inner_text("#output") == first
    assert "patch in row 1, column 1" in page.inner_text(".map-title")
    opened.close()
