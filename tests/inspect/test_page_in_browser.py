"""The page of a translation in a real browser: opened from disk, used by pointer and by keyboard."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accessibility import faults
from browser import PageInBrowser, open_browser
from small_translators import HOSTILE, hostile, recurrent_translator, small_translator

from multihead.inspect.maps import AlignmentHead, align
from multihead.tasks.translation.page import Exploration, explore


@pytest.fixture(scope="module")
def explored() -> Exploration:
    return explore(small_translator(), "zwei Hunde laufen .", "two dogs run .", name="runs/<b>two</b>")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def shown(browser: Any, explored: Exploration, tmp_path: Path) -> Iterator[PageInBrowser]:
    one = PageInBrowser(browser, explored, tmp_path / "page.html")
    yield one
    one.page.close()
    assert one.errors == []
    assert one.requests == [(tmp_path / "page.html").as_uri()]


def test_every_tab_opens_and_the_footer_has_the_caution(shown: PageInBrowser) -> None:
    tabs = shown.page.locator("[role=tab]").all_inner_texts()
    assert tabs == [
        "Model",
        "Alignment",
        "Encoder",
        "Decoder",
        "Cross",
        "Sentence",
        "Search",
        "Embeddings",
        "Step by step",
    ]
    for tab in shown.page.locator("[role=tab]").all():
        tab.click()
        assert shown.page.locator("#panel figure svg, #panel figure canvas").count() > 0
    assert "not why it produced" in shown.page.inner_text("footer")


@pytest.mark.parametrize("width", [390, 1280])
def test_every_tab_is_accessible_and_shows_where_it_is_cut(shown: PageInBrowser, width: int) -> None:
    assert faults(shown.page, width) == []


def test_the_alignment_equals_pythons(shown: PageInBrowser, explored: Exploration) -> None:
    recording = explored.recordings[0]

    def same(choice: AlignmentHead, *, words: bool, specials: bool) -> None:
        exported = json.loads(shown.export("alignment", "JSON"))
        made = align(
            recording.records,
            recording.source,
            recording.target,
            choice=choice,
            words=words,
            specials=specials,
        )
        assert exported["rows"] == [token.text for token in made.target]
        assert exported["columns"] == [token.text for token in made.source]
        np.testing.assert_allclose(exported["weights"], made.matrix_TS, atol=0.01)

    same(AlignmentHead(), words=False, specials=False)
    shown.choose("Layer", "2")
    shown.choose("Head", "max")
    same(AlignmentHead(2, None, "max"), words=False, specials=False)
    shown.choose("Head", "3")
    shown.switch("Whole words")
    same(AlignmentHead(2, 3), words=True, specials=False)
    shown.switch("Special symbols")
    same(AlignmentHead(2, 3), words=True, specials=True)
    assert "layer 2 of 2" in shown.page.inner_text("figcaption")
    assert "head 3 of 3" in shown.page.inner_text("figcaption")


def test_hovering_over_a_cell_shows_its_tokens_and_weight(shown: PageInBrowser) -> None:
    shown.switch("Whole words")
    rects = shown.page.locator('[data-figure="alignment"] svg g rect[width][rx="2.5"]')
    rects.nth(1).hover()
    tip = shown.page.inner_text("#tip")
    assert "two" in tip
    assert "Hunde" in tip
    exported = json.loads(shown.export("alignment", "JSON"))
    assert float(tip.split()[-1]) == pytest.approx(exported["weights"][0][1], abs=1e-3)


def test_arrow_keys_move_through_tabs_and_cells(shown: PageInBrowser) -> None:
    shown.page.focus("#tab-alignment")
    shown.page.keyboard.press("ArrowRight")
    assert shown.page.get_attribute("#tab-encoder", "aria-selected") == "true"
    shown.page.keyboard.press("ArrowLeft")
    shown.page.focus('[data-figure="alignment"] svg')
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
        shown.page.keyboard.press(key)
    assert shown.page.is_visible("#tip")
    assert shown.page.evaluate("document.activeElement.tagName") == "svg"


def test_one_head_is_enlarged_or_two_side_by_side(shown: PageInBrowser) -> None:
    shown.tab("decoder")
    assert shown.page.locator(".mini").count() == 6
    shown.page.click('[data-head="2.3"]')
    assert shown.page.locator('[data-figure="decoder-layer-2-head-3"]').count() == 1
    assert shown.page.locator("[data-masked]").count() > 0
    shown.switch("Two side by side")
    shown.page.click('[data-head="1.1"]')
    assert shown.page.locator(".large figure").count() == 2
    shown.choose("Order", "entropy")
    order = [one.get_attribute("data-head") for one in shown.page.locator(".mini").all()]
    exported = {
        f"{one['layer']}.{one['head']}": one for one in json.loads(shown.export("decoder-heads", "JSON"))
    }
    assert order == sorted(order, key=lambda name: exported[str(name)]["entropy"])


def test_figures_are_exported_as_png_svg_and_json(shown: PageInBrowser) -> None:
    for tab, figure in [
        ("alignment", "alignment"),
        ("cross", "cross-heads"),
        ("search", "search-tree"),
        ("embeddings", "positions"),
    ]:
        shown.tab(tab)
        assert shown.export(figure, "PNG").startswith(b"\x89PNG")
        drawing = ET.fromstring(shown.export(figure, "SVG"))
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
        assert json.loads(shown.export(figure, "JSON"))


def test_hovering_over_a_word_highlights_the_other_side(shown: PageInBrowser) -> None:
    shown.tab("sentence")
    shown.switch("Whole words")
    words = shown.page.locator(".running").nth(1).locator(".word")
    words.nth(1).hover()
    assert words.nth(1).get_attribute("class") == "word on"
    others = shown.page.locator(".running").nth(0).locator(".word").all()
    exported = json.loads(shown.export("sentence", "JSON"))
    shown.page.focus('[data-word="query-1"]')
    shares = [
        float(one.evaluate("e => parseFloat((e.style.background.match(/([\\d.]+)%/) || [0, 0])[1])"))
        for one in others
    ]
    assert int(np.argmax(shares)) == int(np.argmax(exported["weights"][1]))


def test_another_hypothesis_can_be_chosen_and_the_search_played_back(
    shown: PageInBrowser, explored: Exploration
) -> None:
    shown.tab("search")
    assert shown.page.locator('[data-fate="pruned"]').count() > 0
    shown.switch("Pruned branches")
    assert shown.page.locator('[data-fate="pruned"]').count() == 0
    shown.page.click('[data-hypothesis="1"]')
    shown.page.focus("#step")
    shown.page.keyboard.press("Home")
    assert "step 1 of" in shown.page.inner_text(".player")
    assert "while generating" in shown.page.inner_text("#panel")
    shown.tab("alignment")
    shown.switch("Special symbols")
    exported = json.loads(shown.export("alignment", "JSON"))
    assert exported["rows"] == [token.text for token in explored.recordings[1].target.pieces]


def test_one_steps_from_the_model_into_a_layer_and_back(shown: PageInBrowser) -> None:
    page = shown.page
    shown.tab("flow")
    hidden = '[data-part="decoder.layers.1.cross_attention"]'
    assert page.locator(hidden).count() == 0
    page.click('[data-part="decoder.layers.1"]')
    page.click(hidden)
    assert page.inner_text("[role=tab][aria-selected=true]") == "Cross"
    assert page.get_attribute('.mini[aria-pressed="true"]', "data-head").startswith("2.")
    shown.tab("steps")
    assert "Attention over the source, layer 2, head" in page.inner_text(".lead")
    shown.tab("flow")
    page.click('[data-part="encoder.layers.0.self_attention"]')
    assert page.inner_text("[role=tab][aria-selected=true]") == "Encoder"
    page.click(".back")
    assert page.evaluate("document.activeElement.dataset.part") == "encoder.layers.0.self_attention"


def test_the_model_is_walked_by_keyboard(shown: PageInBrowser) -> None:
    page = shown.page
    shown.tab("flow")
    focused = "document.activeElement.dataset.part"
    page.focus('[data-part="source_embedding"]')
    walked = []
    for _ in range(4):
        page.keyboard.press("ArrowDown")
        walked.append(page.evaluate(focused))
    layer = "encoder.layers.0"
    assert walked == ["source_positions", layer, f"{layer}.self_attention", f"{layer}.around_attention.norm"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == f"{layer}.feed_forward"
    table = page.inner_text("#part table")
    assert "w_1.weight" in table
    assert "37 × 24" in table
    page.focus(f'[data-part="{layer}"]')
    page.keyboard.press("Enter")
    assert page.locator(f'[data-part="{layer}.self_attention"]').count() == 0
    assert page.evaluate(focused) == layer


def test_the_exported_flow_is_that_of_the_data(shown: PageInBrowser, explored: Exploration) -> None:
    shown.tab("flow")
    assert json.loads(shown.export("model", "JSON")) == explored.content["flow"]
    svg = ET.fromstring(shown.export("model", "SVG"))
    assert any(
        "Feed-forward network" in (text.text or "") for text in svg.iter("{http://www.w3.org/2000/svg}text")
    )


@pytest.mark.parametrize("width", [390, 1200])
def test_the_model_fits_the_window_and_is_in_korean(shown: PageInBrowser, width: int) -> None:
    page = shown.page
    page.set_viewport_size({"width": width, "height": 800})
    shown.tab("flow")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('figure .scroll').scrollWidth") <= width
    page.click("#language")
    # Names of classes, modules and tokens stay; every other text has Hangul or is a size.
    texts = page.locator("figure svg text").all_text_contents()
    assert [text for text in texts if re.search("[A-Za-z]{3}", text) and not re.search("[가-힣]", text)] == []
    assert len(texts) > 20
    page.click("#language")


def test_the_head_of_the_steps_is_chosen_in_the_page(shown: PageInBrowser, explored: Exploration) -> None:
    shown.tab("steps")
    shown.choose("Attention", "decoder self")
    shown.choose("Layer", "2")
    shown.choose("Head", "3")
    exported = json.loads(shown.export("step-by-step", "JSON"))
    assert exported["what"] == "Decoder self-attention, layer 2, head 3"
    records = {(one.kind, one.layer): one for one in explored.recordings[0].records}
    weights = records["decoder self", 2].sentence(0)[2, -1]  # the last query attends to the most keys
    np.testing.assert_allclose([key["weight"] for key in exported["keys"]], weights, atol=1e-5)


def test_the_step_by_step_numbers_give_the_weights(shown: PageInBrowser, explored: Exploration) -> None:
    shown.tab("steps")
    shown.page.select_option("#query", "2")
    exported = json.loads(shown.export("step-by-step", "JSON"))
    numbers = explored.content["numbers"][0]
    record = [one for one in explored.recordings[0].records if one.kind == "cross"][numbers["layer"] - 1]
    weights = record.sentence(0)[numbers["head"] - 1, 2]
    np.testing.assert_allclose([key["weight"] for key in exported["keys"]], weights, atol=1e-5)
    assert record.v_BHKd is not None
    np.testing.assert_allclose(exported["output"], weights @ record.v_BHKd[0, numbers["head"] - 1], atol=1e-4)


def test_a_figure_can_be_read_as_a_table(shown: PageInBrowser, explored: Exploration) -> None:
    shown.page.click('[data-figure="alignment"] summary')
    shown.page.wait_for_selector("table th[scope=row]")
    rows = shown.page.locator("table th[scope=row]").all_inner_texts()
    assert rows == [token.text for token in explored.recordings[0].target.pieces if not token.special]


def test_no_tab_overflows_a_phone_screen(shown: PageInBrowser) -> None:
    shown.page.set_viewport_size({"width": 375, "height": 700})
    for tab in shown.page.locator("[role=tab]").all():
        tab.click()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize(("kind", "tabs"), [("rnn_attention", 6), ("seq2seq", 3)])
def test_a_page_has_only_the_tabs_that_apply_to_its_model(
    kind: str, tabs: int, browser: Any, tmp_path: Path
) -> None:
    explored = explore(recurrent_translator(kind), "zwei Hunde")
    one = PageInBrowser(browser, explored, tmp_path / "recurrent.html")
    assert one.page.locator("[role=tab]").count() == tabs
    for tab in one.page.locator("[role=tab]").all():
        tab.click()
    assert one.errors == []
    one.page.close()


def test_hostile_tokens_are_displayed_and_never_executed(
    browser: Any, explored: Exploration, tmp_path: Path
) -> None:
    bad = hostile(explored)
    bad = replace(bad, content={**bad.content, "run": HOSTILE[0]})
    one = PageInBrowser(browser, bad, tmp_path / "bad.html")
    for tab in one.page.locator("[role=tab]").all():
        tab.click()
    one.tab("sentence")
    shown_texts = one.page.locator(".running").nth(0).locator(".word").all_inner_texts()
    assert [text.replace("\n", "\u2028") for text in shown_texts] == HOSTILE
    assert one.page.evaluate("window.hacked") is None
    assert one.page.locator("img").count() == 0
    assert one.errors == []
    one.page.close()


def test_the_page_speaks_korean_and_leaves_the_words_of_the_sentence(shown: PageInBrowser) -> None:
    page = shown.page
    page.click("#language")
    assert page.get_attribute("html", "lang") == "ko"
    assert "정렬" in page.locator("[role=tab]").all_inner_texts()
    korean = dict.fromkeys(page.locator("[role=tab]").all_inner_texts())
    assert len(korean) == 9
    for tab in page.locator("[role=tab]").all():
        tab.click()
        text = page.inner_text("#panel figcaption, #panel figure")
        assert "{" not in text
        assert "undefined" not in text
    page.locator("[role=tab]").nth(5).click()
    assert "Hunde" in page.inner_text("#panel")
    assert "쿼리" in page.inner_text(".terms")
    page.click("#language")
    assert page.get_attribute("html", "lang") == "en"


def test_explanations_stay_hidden_once_they_are_hidden(shown: PageInBrowser) -> None:
    page = shown.page
    page.click("#tab-alignment")
    if not page.locator(".terms dl").is_visible():
        page.click(".terms summary")
    assert "which other tokens matter" in page.inner_text(".terms")
    page.click(".terms summary")
    page.click("#tab-sentence")
    assert not page.locator(".terms dl").is_visible()
