"""The web page in Chromium."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accessibility import faults
from browser import open_browser
from serving import Reverser, running, service, upper
from small_translators import trained_translator

from multihead.apps.serve.app import Serving
from multihead.apps.serve.corrections import Corrections
from multihead.apps.serve.glossaries import Glossaries
from multihead.apps.serve.handling import RequestLimits
from multihead.text.terms import Glossary, Term


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server whose translators reverse lines."""
    corrections = Corrections(tmp_path_factory.mktemp("corrections") / "c.tsv")
    serving = Serving(limits=RequestLimits(chars=500), corrections=corrections)
    with (
        service(("de", "en"), ("en", "de"), translator=Reverser()) as served,
        running(served, serving, translate_document=upper) as at,
    ):
        yield at


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server with a small Transformer, which has attention to show."""
    with service(("de", "en"), translator=trained_translator()) as served, running(served) as at:
        yield at


@pytest.fixture(scope="module")
def with_terms() -> Iterator[str]:
    """Yield the address of a server with a glossary, whose translator reverses lines."""
    glossary = Glossary([Term("Ab", "bA", ("Ab",), ("bA",), "smart", "", "names:1")])
    serving = Serving(glossaries=Glossaries({"names": glossary}))
    with service(("de", "en"), translator=Reverser()) as served, running(served, serving) as at:
        yield at


class Opened:
    """A page with its console messages and the addresses that it asked for."""

    def __init__(self, browser: Any, address: str, fragment: str = "", **size: int) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page()
        if size:
            self.page.set_viewport_size(size)
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{address}/{fragment}")

    def output(self) -> str:
        self.wait_for("document.querySelector('#output .sentence') !== null")
        self.wait_for("!document.querySelector('#output').classList.contains('old')")
        return str(self.page.inner_text("#output"))

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true; Playwright's own way is against the page's security policy."""
        end = time.monotonic() + 20
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(20)


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Opened]:
    one = Opened(browser, address)
    yield one
    assert one.errors == []
    assert all(request.startswith((address, "blob:")) for request in one.requests)
    one.page.close()


def test_a_text_is_translated_while_it_is_typed(opened: Opened) -> None:
    opened.page.fill("#input", "Guten Tag.\n\nWie geht es?")
    opened.page.type("#input", "!")
    opened.wait_for("document.querySelector('#output').innerText.endsWith('!?se theg eiW')")
    assert opened.output() == ".gaT netuG\n\n!?se theg eiW"
    assert opened.page.inner_text("#count").startswith("25")
    assert sum(request.endswith("/sentences") for request in opened.requests) <= 4


def test_languages_have_names_and_are_swapped_with_their_texts(opened: Opened) -> None:
    page = opened.page
    assert page.locator("#source option").all_inner_texts() == ["Detect language", "German", "English"]
    page.select_option("#source", "de")
    page.fill("#input", "Hallo")
    assert opened.output() == "ollaH"
    page.keyboard.press("Control+Shift+S")
    opened.wait_for("document.querySelector('#output').innerText === 'Hallo'")
    assert (page.input_value("#source"), page.input_value("#target")) == ("en", "de")
    assert page.input_value("#input") == "ollaH"
    assert "from=en&to=de&q=ollaH" in page.url


def test_the_address_says_what_is_translated_and_no_server_is_told(browser: Any, address: str) -> None:
    one = Opened(browser, address, "#from=de&to=en&q=eins+zwei")
    assert one.output() == "iewz snie"
    assert not any("eins" in request.partition("#")[0] for request in one.requests)
    assert one.errors == []
    one.page.close()


def test_copying_says_so(opened: Opened) -> None:
    page = opened.page
    assert page.is_hidden("#copy")
    page.fill("#input", "Hallo")
    opened.output()
    page.evaluate("delete Navigator.prototype.clipboard")  # as in a page without HTTPS
    page.click("#copy")
    opened.wait_for("document.querySelector('#copy').textContent === 'Copied'")
    page.fill("#input", "")
    page.focus("#input")
    page.keyboard.press("Control+V")
    assert page.input_value("#input") == "ollaH"


def test_the_page_speaks_korean_and_is_dark_when_asked(opened: Opened) -> None:
    page = opened.page
    page.click("#ui")
    assert page.inner_text("#open") == "파일 열기"
    assert page.locator("#target option").all_inner_texts() == ["영어", "독일어"]
    assert page.evaluate("document.documentElement.lang") == "ko"
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click("#theme")
    page.click("#ui")
    assert page.inner_text("#open") == "Open a file"


def test_an_error_of_the_server_is_shown(opened: Opened) -> None:
    opened.page.fill("#input", "abc")
    assert opened.output() == "cba"
    opened.page.fill("#input", "a" * 501)
    opened.wait_for("document.querySelector('#output').textContent.includes('more than 500 characters')")
    assert "cba" not in opened.page.inner_text("#output")
    assert not opened.page.is_visible("#copy")
    opened.errors.clear()  # browsers log every answer of status 413


def test_a_file_comes_back_translated(opened: Opened) -> None:
    page = opened.page
    page.set_input_files("#file", {"name": "letter.txt", "mimeType": "text/plain", "buffer": b"hallo"})
    with page.expect_download() as waiting:
        page.click(".document a")
    assert waiting.value.suggested_filename in ("letter.en.txt", "letter.de.txt")
    assert Path(waiting.value.path()).read_bytes() == b"HALLO"


def test_the_places_to_review_in_a_file_are_listed(opened: Opened) -> None:
    page = opened.page
    page.set_input_files("#file", {"name": "a.xlf", "mimeType": "text/plain", "buffer": b"hallo"})
    page.click(".review summary")
    assert page.inner_text(".review summary") == "1 to review"
    assert page.inner_text(".review li") == "a.xlf:3: low confidence"


def test_other_translations_of_a_sentence_are_chosen_and_kept(opened: Opened) -> None:
    page = opened.page
    page.select_option("#source", "de")
    page.fill("#input", "Eins. Zwei.")
    opened.output()
    page.click("#output .sentence:nth-of-type(2)")
    opened.wait_for("document.querySelectorAll('.nbest button').length >= 2")
    page.keyboard.press("Escape")
    page.locator(".nbest button").nth(1).click()
    assert page.inner_text("#output") == ".sniE .IEWZ"
    with page.expect_response("**/suggest") as waiting:
        page.click("text=Keep as a correction")
    assert waiting.value.status == 200


def test_terms_of_a_glossary_are_marked_in_both_panes(browser: Any, with_terms: str) -> None:
    one = Opened(browser, with_terms, "#q=xy+Ab+z")
    assert one.output() == "z bA yx"
    for pane, word in (("mirror", "Ab"), ("output", "bA")):
        marked = one.page.locator(f"#{pane} .word.term")
        assert (marked.all_inner_texts(), marked.first.get_attribute("title")) == ([word], "Ab → bA")
    assert one.page.evaluate("location.hash").startswith("#from=auto&to=en&terms=names")
    one.page.select_option("#glossary", "")
    one.wait_for("document.querySelectorAll('.word.term').length === 0")
    assert one.errors == []
    one.page.close()


def test_a_server_without_glossaries_offers_none(opened: Opened) -> None:
    opened.page.fill("#input", "ab")
    opened.output()
    assert not opened.page.locator("#glossary").is_visible()


def test_words_light_up_in_both_panes(browser: Any, modelled: str) -> None:
    one = Opened(browser, modelled, "#q=ein+Hund+und+zwei+Katzen+laufen+.")
    one.output()
    one.wait_for(
        "[...document.querySelectorAll('#output .word')].some(w => w.style.getPropertyValue('--doubt-alpha'))"
    )
    word = one.page.locator("#output .word").first
    word.hover()
    one.wait_for("document.querySelectorAll('#mirror .word.lit').length > 0")
    assert one.page.locator("#output .word.on").count() == 1
    one.page.locator("#input").hover(position={"x": 40, "y": 35})
    one.wait_for("document.querySelectorAll('#mirror .word.on').length === 1")
    one.wait_for("document.querySelectorAll('#output .word.lit').length > 0")
    assert one.errors == []
    one.page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_accessible(browser: Any, modelled: str, width: int) -> None:
    one = Opened(browser, modelled)
    assert faults(one.page, width) == []
    one.page.fill("#input", "die Hunde schlafen")
    one.output()
    one.page.locator("#output .word").first.click()
    one.wait_for("document.querySelector('#choices button') !== null")
    assert faults(one.page, width) == []
    one.page.close()


def test_a_word_is_replaced_by_keyboard(browser: Any, modelled: str) -> None:
    one = Opened(browser, modelled, "#q=die+Hunde+schlafen")
    before = one.output()
    page = one.page
    page.focus('#output .word[tabindex="0"]')
    page.keyboard.press("Enter")
    one.wait_for("document.querySelector('#choices button') !== null")
    page.keyboard.press("Escape")
    assert page.is_hidden("#choices")
    page.keyboard.press("Enter")
    one.wait_for("document.activeElement.matches('#choices button')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    one.wait_for(f"document.querySelector('#output').innerText !== {before!r}")
    assert one.errors == []
    page.close()


def test_a_word_keeps_the_focus_while_words_are_made_anew(browser: Any, modelled: str) -> None:
    one = Opened(browser, modelled, "#q=die+Hunde+schlafen")
    one.output()
    page = one.page
    page.focus('#output .word[tabindex="0"]')
    page.keyboard.press("ArrowRight")
    start = page.evaluate("document.activeElement.dataset.start")
    anew = "document.querySelector('#output .sentence').sentence.render()"
    page.evaluate(anew)
    assert page.evaluate("document.activeElement.dataset.start") == start
    page.keyboard.press("Enter")
    one.wait_for("document.activeElement.matches('#choices button')")
    page.evaluate(anew)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.start") == start
    assert one.errors == []
    page.close()


def test_nothing_is_cut_off_on_a_phone(browser: Any, address: str) -> None:
    one = Opened(browser, address, "#q=" + "Ein+Wort.+" * 40, width=390, height=844)
    one.output()
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("#source", "#target", "#swap", "#copy", "#open"):
        box = one.page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert one.page.evaluate("document.querySelector('#input').scrollHeight") <= one.page.evaluate(
        "document.querySelector('#input').clientHeight"
    )
    one.page.close()
