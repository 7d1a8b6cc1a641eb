"""The pages of GPT, BERT, ViT and DALL-E in a real browser."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import looking
import numpy as np
import pytest
from browsing import Shown, opened
from exploring import HOSTILE
from PIL import Image

from multihead.attention_maps import align_self
from multihead.attention_maps.alignment import Choice
from multihead.inspect.drawing import paint
from multihead.inspect.image_inspection import Sight, see
from multihead.inspect.page import Asked, SequenceExploration, explore_reading
from multihead.inspect.page.drawn import explore_painting
from multihead.inspect.page.kinds import BOTH_WAYS, CAUSAL
from multihead.inspect.page.over_picture import explore_sight
from multihead.inspect.text_inspection import Reading, read_gaps, read_text

Opened = Callable[[SequenceExploration], Shown]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from opened(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    pages: list[Shown] = []

    def one(explored: SequenceExploration) -> Shown:
        pages.append(Shown(browser, explored, tmp_path / "page.html"))
        return pages[-1]

    yield one
    for shown in pages:
        shown.page.close()
        assert shown.complaints == []
        assert shown.requests == [(tmp_path / "page.html").as_uri()]


def titles(shown: Shown) -> list[str]:
    """The tabs, each opened and seen to draw something."""
    for tab in shown.page.locator("[role=tab]").all():
        tab.click()
        assert shown.page.locator("#panel figure svg, #panel figure canvas").count() > 0
    found: list[str] = shown.page.locator("[role=tab]").all_inner_texts()
    return found


def page_of(reading: Reading, loaded: Any, kind: Any, asked: Asked = Asked()) -> SequenceExploration:  # noqa: B008
    return explore_reading(reading, loaded.model, loaded.tokenizer, kind, asked)


def a_sight(folder: Path) -> tuple[Sight, SequenceExploration]:
    pixels = np.random.default_rng(3).integers(0, 255, (15, 15, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "<b>a.png")
    classifier = looking.picture_classifier()
    sight = see(classifier, folder / "<b>a.png")
    return sight, explore_sight(sight, classifier.model, Asked(name="runs/<b>sees</b>"))


def test_a_language_models_page_shows_every_head_and_the_text_at_itself(show: Opened) -> None:
    writer = looking.writer()
    reading = read_text(writer, "the king said that the king")
    shown = show(page_of(reading, writer, CAUSAL, Asked(choice=Choice(2, 3))))
    tabs = ["Attention", "Sentence", "What it says", "What goes in", "Step by step"]
    assert titles(shown) == tabs
    shown.tab("heads")
    assert shown.page.locator(".mini").count() == 6
    assert shown.page.locator("[data-forbidden]").count() == 27 * 26 // 2
    shown.page.click('[data-head="1.2"]')
    told = json.loads(shown.export("heads-layer-1-head-2", "JSON"))
    made = align_self(reading.records, reading.tokens, choice=Choice(1, 2))
    np.testing.assert_allclose(told["weights"], made.matrix_TS, atol=0.01)
    shown.tab("sentence")
    shown.switch("Whole words")
    told = json.loads(shown.export("sentence", "JSON"))
    made = align_self(reading.records, reading.tokens, choice=Choice(2, 3), words=True)
    assert told["rows"] == told["columns"] == [token.text for token in made.source]
    np.testing.assert_allclose(told["weights"], made.matrix_TS, atol=0.01)
    shown.page.focus('[data-word="query-4"]')
    assert shown.page.locator('[data-word="key-0"] rect').get_attribute("fill-opacity") != "0"
    assert "goes on with" in shown.page.inner_text(".pair")
    shown.tab("steps")
    shown.page.select_option("#query", "5")
    numbers = json.loads(shown.export("step-by-step", "JSON"))["keys"]
    assert [key["allowed"] for key in numbers] == [True] * 6 + [False] * 21
    weights = reading.records[1].sentence(0)[2, 5]
    np.testing.assert_allclose([key["weight"] for key in numbers], weights, atol=1e-5)


def test_the_fillings_of_gaps_can_be_read_and_taken_out(show: Opened) -> None:
    filler = looking.filler()
    reading = read_gaps(filler, "the [MASK] said that [MASK] is so")
    shown = show(page_of(reading, filler, BOTH_WAYS))
    assert titles(shown)[:3] == ["Attention", "Sentence", "What it says"]
    shown.tab("guesses")
    answers = json.loads(shown.export("guesses-2", "JSON"))
    assert answers["question"] == "[MASK] 2"
    expected = filler.fill("the [MASK] said that [MASK] is so", 8).gaps[1]
    assert [one["text"] for one in answers["answers"]] == [guess.piece for guess in expected]
    shown.tab("heads")
    assert shown.page.locator("[data-forbidden]").count() == 0


def test_a_look_over_a_picture_is_the_one_that_python_makes(show: Opened, tmp_path: Path) -> None:
    sight, explored = a_sight(tmp_path)
    shown = show(explored)
    tabs = ["Over the picture", "Every patch", "What it says", "What goes in", "Step by step"]
    assert titles(shown) == tabs
    shown.tab("picture")
    told = json.loads(shown.export("over-the-picture", "JSON"))
    np.testing.assert_allclose(told["values"], sight.rollout()[-1], rtol=1e-6)
    shown.choose("Through layer", "1")
    told = json.loads(shown.export("over-the-picture", "JSON"))
    np.testing.assert_allclose(told["values"], sight.rollout()[0], rtol=1e-6)
    shown.page.click('[data-map="2.3"]')
    assert shown.page.get_attribute('[data-map="2.3"]', "aria-pressed") == "true"
    told = json.loads(shown.export("over-the-picture", "JSON"))
    np.testing.assert_allclose(told["values"], sight.maps()[1][2], rtol=1e-6)
    shown.choose("Head", "mean")
    told = json.loads(shown.export("over-the-picture", "JSON"))
    np.testing.assert_allclose(told["values"], sight.maps()[1].mean(axis=0), rtol=1e-5)


def test_a_patch_is_pointed_at_by_keys_and_asked_what_it_looks_at(show: Opened, tmp_path: Path) -> None:
    sight, explored = a_sight(tmp_path)
    shown = show(explored)
    shown.page.focus('[data-figure="over-the-picture"] svg')
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # the first one enters the picture
        shown.page.keyboard.press(key)
    tip = shown.page.inner_text("#tip")
    assert tip.startswith("row 2, column 2")
    assert float(tip.split()[-1]) == pytest.approx(sight.rollout()[-1][6], abs=1e-4)
    shown.page.keyboard.press("Enter")
    shown.choose("Layer", "2")
    shown.choose("Head", "1")
    told = json.loads(shown.export("over-the-picture", "JSON"))
    assert "the patch in row 2, column 2" in told["what"]
    np.testing.assert_allclose(told["values"], sight.records[1].sentence(0)[0, 7, 1:], atol=0.01)
    shown.page.click("#asker")
    assert "the class token" in shown.page.inner_text('[data-figure="over-the-picture"] figcaption')


def test_the_map_fades_with_its_opacity_and_can_be_taken_out(show: Opened, tmp_path: Path) -> None:
    shown = show(a_sight(tmp_path)[1])
    shown.page.focus('input[aria-label^="Opacity"]')
    shown.page.keyboard.press("Home")
    lights = shown.page.locator("[data-light]")
    assert {one.get_attribute("opacity") for one in lights.all()} == {"0"}
    for figure in ("over-the-picture", "every-map"):
        assert shown.export(figure, "PNG").startswith(b"\x89PNG")
        assert ET.fromstring(shown.export(figure, "SVG")).tag == "{http://www.w3.org/2000/svg}svg"
    shown.page.click('[data-figure="over-the-picture"] summary')
    shown.page.wait_for_selector("table th[scope=row]")
    shown.page.set_viewport_size({"width": 375, "height": 700})
    for tab in shown.page.locator("[role=tab]").all():
        tab.click()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 375


def test_the_words_that_a_picture_was_drawn_from_are_those_that_python_finds(show: Opened) -> None:
    artist = looking.artist()
    painting = paint(artist, "a large green circle")
    shown = show(explore_painting(painting, Asked(choice=Choice(layer=2))))
    assert titles(shown) == ["Over the picture", "Every place", "Step by step"]
    shown.tab("picture")
    shown.choose("Head", "2")
    told = json.loads(shown.export("which-word", "JSON"))
    look = painting.looks()[1][1]
    np.testing.assert_allclose(told["weights"], look, atol=0.005)
    sure = np.diff(np.sort(look[:, 1:5], axis=1)[:, -2:], axis=1)[:, 0] > 0.01
    most = [painting.words[1 + place].text for place in look[:, 1:5].argmax(axis=1)]
    assert sure.sum() > 20
    assert [a for a, use in zip(told["most"], sure, strict=True) if use] == [
        b for b, use in zip(most, sure, strict=True) if use
    ]
    shown.page.click('[data-map="word-3"]')
    everywhere = json.loads(shown.export("word-everywhere", "JSON"))
    assert len(everywhere) == 9
    np.testing.assert_allclose(everywhere[4]["values"], look[:, 3], atol=0.005)


def test_hostile_texts_are_shown_and_never_run(show: Opened, tmp_path: Path) -> None:
    text = "".join(HOSTILE).replace("\u2028", " ")
    writer = looking.writer(text=text, context=199)
    readable = page_of(read_text(writer, text), writer, CAUSAL, Asked(name=HOSTILE[0]))
    for token, bad in zip(readable.content["source"]["pieces"], HOSTILE, strict=False):
        token["text"] = bad
    artist = looking.artist()
    painting = paint(artist, "<b> large </b>")
    pages = [readable, a_sight(tmp_path)[1], explore_painting(painting)]
    pages[1].content["guesses"][0]["answers"][0]["text"] = HOSTILE[0]
    pages[2].content["picture"]["words"][1]["text"] = HOSTILE[2]
    for explored in pages:
        shown = show(explored)
        titles(shown)
        assert shown.page.evaluate("window.hacked") is None
        assert shown.page.locator("img, b:not(.brand b), i:not(.switch i):not(.bar i)").count() == 0
