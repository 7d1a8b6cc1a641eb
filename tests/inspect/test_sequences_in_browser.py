"""The pages of GPT, BERT, ViT and DALL-E in a real browser."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_models
from browser import PageInBrowser, open_browser
from PIL import Image
from small_translators import HOSTILE

from multihead.inspect.maps import align_self
from multihead.inspect.maps.alignment import AlignmentHead
from multihead.inspect.page import PageOptions, SequenceExploration, explore_text
from multihead.inspect.page.kinds import BIDIRECTIONAL, CAUSAL
from multihead.inspect.text_inspection import TextInspection
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.images.attention import ImageInspection, inspect_image
from multihead.tasks.images.page import explore_image
from multihead.tasks.language.attention import inspect_text
from multihead.tasks.masked.attention import inspect_masked_text

Opened = Callable[[SequenceExploration], PageInBrowser]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    pages: list[PageInBrowser] = []

    def one(explored: SequenceExploration) -> PageInBrowser:
        pages.append(PageInBrowser(browser, explored, tmp_path / "page.html"))
        return pages[-1]

    yield one
    for shown in pages:
        shown.page.close()
        assert shown.errors == []
        assert shown.requests == [(tmp_path / "page.html").as_uri()]


def titles(shown: PageInBrowser) -> list[str]:
    """Open every tab, check that it draws something, and return the titles."""
    for tab in shown.page.locator("[role=tab]").all():
        tab.click()
        assert shown.page.locator("#panel figure svg, #panel figure canvas").count() > 0
    found: list[str] = shown.page.locator("[role=tab]").all_inner_texts()
    return found


DEFAULTS = PageOptions()


def page_of(
    inspection: TextInspection, loaded: Any, kind: Any, options: PageOptions = DEFAULTS
) -> SequenceExploration:
    return explore_text(inspection, loaded.model, loaded.tokenizer, kind, options)


def an_image_page(folder: Path) -> tuple[ImageInspection, SequenceExploration]:
    pixels = np.random.default_rng(3).integers(0, 255, (15, 15, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "<b>a.png")
    classifier = small_models.image_classifier()
    inspection = inspect_image(classifier, folder / "<b>a.png")
    return inspection, explore_image(inspection, classifier.model, PageOptions(name="runs/<b>sees</b>"))


def test_a_language_models_page_shows_every_head_and_the_self_alignment(show: Opened) -> None:
    generator = small_models.gpt_generator()
    inspection = inspect_text(generator, "the king said that the king")
    shown = show(page_of(inspection, generator, CAUSAL, PageOptions(choice=AlignmentHead(2, 3))))
    tabs = ["Model", "Attention", "Sentence", "Predictions", "Embeddings", "Step by step"]
    assert titles(shown) == tabs
    shown.tab("heads")
    assert shown.page.locator(".mini").count() == 6
    assert shown.page.locator("[data-masked]").count() == 27 * 26 // 2
    shown.page.click('[data-head="1.2"]')
    exported = json.loads(shown.export("heads-layer-1-head-2", "JSON"))
    made = align_self(inspection.records, inspection.tokens, choice=AlignmentHead(1, 2))
    np.testing.assert_allclose(exported["weights"], made.matrix_TS, atol=0.01)
    shown.tab("sentence")
    shown.switch("Whole words")
    exported = json.loads(shown.export("sentence", "JSON"))
    made = align_self(inspection.records, inspection.tokens, choice=AlignmentHead(2, 3), words=True)
    assert exported["rows"] == exported["columns"] == [token.text for token in made.source]
    np.testing.assert_allclose(exported["weights"], made.matrix_TS, atol=0.01)
    shown.page.focus('[data-word="query-4"]')
    assert shown.page.locator('[data-word="key-0"] rect').get_attribute("fill-opacity") != "0"
    assert "next token" in shown.page.inner_text(".pair")
    shown.tab("steps")
    shown.page.select_option("#query", "5")
    numbers = json.loads(shown.export("step-by-step", "JSON"))["keys"]
    assert [key["allowed"] for key in numbers] == [True] * 6 + [False] * 21
    weights = inspection.records[0].sentence(0)[1, 5]  # of the head that was shown last
    np.testing.assert_allclose([key["weight"] for key in numbers], weights, atol=1e-5)


def test_predictions_for_masks_are_shown_and_exported(show: Opened) -> None:
    mask_filler = small_models.mask_filler()
    inspection = inspect_masked_text(mask_filler, "the [MASK] said that [MASK] is so")
    shown = show(page_of(inspection, mask_filler, BIDIRECTIONAL))
    assert titles(shown)[:4] == ["Model", "Attention", "Sentence", "Predictions"]
    shown.tab("predictions")
    answers = json.loads(shown.export("predictions-2", "JSON"))
    assert answers["target"] == "[MASK] 2"
    expected = mask_filler.fill("the [MASK] said that [MASK] is so", 8).gaps[1]
    assert [one["text"] for one in answers["answers"]] == [guess.piece for guess in expected]
    shown.tab("heads")
    assert shown.page.locator("[data-masked]").count() == 0


def test_overlays_equal_pythons(show: Opened, tmp_path: Path) -> None:
    inspection, explored = an_image_page(tmp_path)
    shown = show(explored)
    tabs = ["Model", "Overlay", "All patches", "Predictions", "Embeddings", "Step by step"]
    assert titles(shown) == tabs
    shown.tab("image")
    exported = json.loads(shown.export("overlay", "JSON"))
    np.testing.assert_allclose(exported["values"], inspection.rollout()[-1], rtol=1e-6)
    shown.choose("Up to layer", "1")
    exported = json.loads(shown.export("overlay", "JSON"))
    np.testing.assert_allclose(exported["values"], inspection.rollout()[0], rtol=1e-6)
    shown.page.click('[data-map="2.3"]')
    assert shown.page.get_attribute('[data-map="2.3"]', "aria-pressed") == "true"
    exported = json.loads(shown.export("overlay", "JSON"))
    np.testing.assert_allclose(exported["values"], inspection.maps()[1][2], rtol=1e-6)
    shown.choose("Head", "mean")
    exported = json.loads(shown.export("overlay", "JSON"))
    np.testing.assert_allclose(exported["values"], inspection.maps()[1].mean(axis=0), rtol=1e-5)


def test_a_patch_is_chosen_by_keyboard_to_show_its_attention(show: Opened, tmp_path: Path) -> None:
    inspection, explored = an_image_page(tmp_path)
    shown = show(explored)
    shown.page.focus('[data-figure="overlay"] svg')
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # the first one enters the image
        shown.page.keyboard.press(key)
    tip = shown.page.inner_text("#tip")
    assert tip.startswith("row 2, column 2")
    assert float(tip.split()[-1]) == pytest.approx(inspection.rollout()[-1][6], abs=1e-4)
    shown.page.keyboard.press("Enter")
    shown.choose("Layer", "2")
    shown.choose("Head", "1")
    exported = json.loads(shown.export("overlay", "JSON"))
    assert "the patch in row 2, column 2" in exported["what"]
    np.testing.assert_allclose(exported["values"], inspection.records[1].sentence(0)[0, 7, 1:], atol=0.01)
    shown.page.click("#query-patch")
    assert "the class token" in shown.page.inner_text('[data-figure="overlay"] figcaption')


def test_overlays_have_an_opacity_and_are_exported(show: Opened, tmp_path: Path) -> None:
    shown = show(an_image_page(tmp_path)[1])
    shown.page.focus('input[aria-label^="Opacity"]')
    shown.page.keyboard.press("Home")
    lights = shown.page.locator("[data-light]")
    assert {one.get_attribute("opacity") for one in lights.all()} == {"0"}
    for figure in ("overlay", "every-map"):
        assert shown.export(figure, "PNG").startswith(b"\x89PNG")
        assert ET.fromstring(shown.export(figure, "SVG")).tag == "{http://www.w3.org/2000/svg}svg"
    shown.page.click('[data-figure="overlay"] summary')
    shown.page.wait_for_selector("table th[scope=row]")
    shown.page.set_viewport_size({"width": 375, "height": 700})
    for tab in shown.page.locator("[role=tab]").all():
        tab.click()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 375


def test_caption_overlays_equal_pythons(show: Opened) -> None:
    image_generator = small_models.image_generator()
    inspection = inspect_drawing(image_generator, "a large green circle")
    shown = show(explore_drawing(inspection, PageOptions(choice=AlignmentHead(layer=2))))
    assert titles(shown) == ["Model", "Overlay", "All positions", "Step by step"]
    shown.tab("image")
    shown.choose("Head", "2")
    exported = json.loads(shown.export("top-word", "JSON"))
    to_words = inspection.word_weights()[1][1]
    np.testing.assert_allclose(exported["weights"], to_words, atol=0.005)
    sure = np.diff(np.sort(to_words[:, 1:5], axis=1)[:, -2:], axis=1)[:, 0] > 0.01
    most = [inspection.words[1 + i].text for i in to_words[:, 1:5].argmax(axis=1)]
    assert sure.sum() > 20
    assert [a for a, use in zip(exported["top"], sure, strict=True) if use] == [
        b for b, use in zip(most, sure, strict=True) if use
    ]
    shown.page.click('[data-map="word-3"]')
    every_head = json.loads(shown.export("word-every-head", "JSON"))
    assert len(every_head) == 9
    np.testing.assert_allclose(every_head[4]["values"], to_words[:, 3], atol=0.005)


def test_hostile_texts_are_displayed_and_never_executed(show: Opened, tmp_path: Path) -> None:
    text = "".join(HOSTILE).replace("\u2028", " ")
    generator = small_models.gpt_generator(text=text, context=199)
    readable = page_of(inspect_text(generator, text), generator, CAUSAL, PageOptions(name=HOSTILE[0]))
    for token, bad in zip(readable.content["source"]["pieces"], HOSTILE, strict=False):
        token["text"] = bad
    image_generator = small_models.image_generator()
    inspection = inspect_drawing(image_generator, "<b> large </b>")
    pages = [readable, an_image_page(tmp_path)[1], explore_drawing(inspection)]
    pages[1].content["predictions"][0]["answers"][0]["text"] = HOSTILE[0]
    pages[2].content["image"]["words"][1]["text"] = HOSTILE[2]
    for explored in pages:
        shown = show(explored)
        titles(shown)
        assert shown.page.evaluate("window.hacked") is None
        assert shown.page.locator("img, b:not(.brand b), i:not(.switch i):not(.bar i)").count() == 0
