"""The page that translates, in a real browser: opened from disk, used by pointer and by keyboard."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accessibility import faults
from browser import open_browser
from live_pages import lines, page_parts, reversing, vocabulary

from multihead.apps.export.page import PageParts
from multihead.inspect.live import assemble
from multihead.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return vocabulary()


@pytest.fixture(scope="module")
def made(tokenizer: Tokenizer) -> PageParts:
    return page_parts(reversing(tokenizer, norm="pre"), tokenizer)


@pytest.fixture(scope="module")
def html(made: PageParts) -> str:
    return assemble("<b>small</b>", made).html


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from open_browser(tmp_path_factory.mktemp("profile"))


class Live:
    """A page in the browser, with its messages and requests."""

    def __init__(self, browser: Any, html: str, path: Path) -> None:
        path.write_text(html, encoding="utf-8")
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page()
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def wait(self, attribute: str) -> None:
        self.page.wait_for_selector(f"html[data-{attribute}]", state="attached")

    def type(self, text: str) -> None:
        """Replace the text and wait for its translation and the maps of its first sentence."""
        self.page.evaluate("delete document.documentElement.dataset.translated")
        self.page.evaluate("delete document.documentElement.dataset.explained")
        self.page.fill("#source", text)
        self.wait("translated")
        if text.strip():
            self.wait("explained")

    @property
    def output(self) -> str:
        return str(self.page.inner_text("#output")).strip()


@pytest.fixture
def live(browser: Any, html: str, tmp_path: Path) -> Iterator[Live]:
    one = Live(browser, html, tmp_path / "page.html")
    one.wait("ready")
    yield one
    one.page.close()
    assert one.errors == []
    own = (tmp_path / "page.html").as_uri()
    assert [url for url in one.requests if url != own and not url.startswith("blob:")] == []


def test_the_page_allows_itself_no_request_and_no_other_script(html: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]{44}' 'wasm-unsafe-eval'", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]{44}'", rules["style-src"])
    assert rules["worker-src"] == "blob:"
    assert rules["img-src"] == "blob: data:"
    assert "<b>small" not in html
    assert not re.search(r"https?://(?!www\.w3\.org)", html)


def test_what_is_typed_is_translated_as_python_translates_it(
    live: Live, made: PageParts, tokenizer: Tokenizer
) -> None:
    for check in made.facts["checks"]:
        source, target = (tokenizer.decode(check[side]) for side in ("source", "target"))
        live.type(source)
        assert live.output.split() == target.split()
    live.page.wait_for_selector("#checked.good")


def test_every_head_of_every_layer_is_drawn_and_changes_with_the_text(live: Live) -> None:
    pixels = "[...document.querySelectorAll('.mini canvas')].map((one) => one.toDataURL())"
    live.type("ein Hund läuft")
    assert live.page.locator(".mini").count() == 2 * (5 + 1)
    before = live.page.evaluate(pixels)
    live.type("zwei Katzen schlafen und")
    after = live.page.evaluate(pixels)
    assert all(one != other for one, other in zip(before, after, strict=True))
    for kind in ("encoder", "own", "cross"):
        live.page.click(f'#attention label:has(input[value="{kind}"])')
        assert live.page.locator("#attention .ribbon path").count() > 0
    live.page.click('[data-head="1.3"]')
    assert "Layer 1, head 3" in live.page.inner_text("#attention")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_accessible_and_shows_where_it_is_cut(live: Live, width: int) -> None:
    live.type("ein Hund läuft über die Wiese und zwei Katzen schlafen")
    live.page.locator("#output .word").nth(1).click()
    live.page.wait_for_selector(".way")
    assert faults(live.page, width) == []


def test_an_alternative_is_continued_and_taken_back(live: Live) -> None:
    live.type("ein Hund läuft über die Wiese")
    own = live.output
    live.page.locator("#output .word").nth(1).click()
    other = live.page.locator(".way[aria-pressed=false]").first
    other.click()
    live.page.wait_for_selector(".sentence[data-chosen]")
    assert live.output != own
    assert live.output.startswith(own.split()[0])
    live.page.click(".changed button")
    assert live.output == own


def test_the_keyboard_reaches_every_word(live: Live) -> None:
    live.type("ein Hund läuft über die Wiese")
    words = live.page.locator("#output .word").all_inner_texts()
    live.page.locator("#output .word").first.focus()
    live.page.keyboard.press("End")
    assert live.page.evaluate("document.activeElement.textContent") == words[-1]
    live.page.keyboard.press("ArrowLeft")
    assert live.page.evaluate("document.activeElement.textContent") == words[-2]
    assert f"“{words[-2]}”" in live.page.inner_text("#alternatives")


def test_a_beam_offers_other_translations(live: Live) -> None:
    live.type("zwei Katzen schlafen")
    live.page.evaluate("delete document.documentElement.dataset.explained")
    live.page.click('label:has(input[value="careful"])')
    live.wait("explained")
    live.page.wait_for_selector(".others li")


def test_a_cell_of_the_map_is_worked_out_to_the_weight_that_is_drawn(live: Live) -> None:
    live.type("ein Hund läuft über die Wiese")
    live.page.click('[data-head="2.3"]')
    image = live.page.locator("#attention .large image").last
    live.page.locator("#attention .large svg").last.hover()
    box = image.bounding_box()
    live.page.mouse.click(box["x"] + 5, box["y"] + 5)
    live.page.wait_for_selector("html[data-worked=softmax]", state="attached")
    live.page.mouse.move(box["x"] + 6, box["y"] + 6)
    assert live.page.inner_text("#tip").endswith(live.page.inner_text("#worked-result"))
    assert live.page.locator(".lit.cell").count() == 1


def test_the_steps_lead_through_the_whole_decoder_forwards_and_backwards(live: Live) -> None:
    live.type("ein Hund läuft")
    live.page.click("[data-step=embed]")
    titles: list[str] = []
    onward = live.page.locator('[data-keep="move1"]')
    while not titles or onward.is_enabled():
        if titles:
            onward.click()
        live.page.wait_for_selector(f'.walk :text("step {len(titles) + 1} of")')
        titles.append(live.page.inner_text(".worked h3"))
    # Both layers: two attentions of nine steps and a network of four; then norm, logit and softmax.
    assert len(titles) == 1 + 2 * (2 * 9 + 4) + 3
    assert titles[-1] == "Softmax over the vocabulary"
    assert float(live.page.inner_text("#worked-result")) > 0
    live.page.click('[data-keep="move-1"]')
    live.page.wait_for_selector("html[data-worked=logit]", state="attached")


def test_the_worked_cell_follows_what_is_typed(live: Live, tokenizer: Tokenizer) -> None:
    live.type("ein Hund läuft über die Wiese")
    live.page.click("[data-step=softmax]")
    live.page.wait_for_selector("#worked-result")
    live.type("zwei")
    length = len(tokenizer.encode("zwei")) + 1
    rows = live.page.locator(".numbers tbody th")
    live.page.wait_for_selector(f".numbers tbody tr >> nth={length}", state="detached")
    assert rows.count() == length
    assert rows.last.inner_text() == "⟨/s⟩"


def test_two_sentences_stand_side_by_side(live: Live) -> None:
    live.type("ein Hund läuft")
    live.page.click("#attention .row button")
    live.type("zwei Katzen schlafen und")
    assert live.page.locator("#attention .large svg").count() == 2
    sentences = live.page.locator(".twin b").all_inner_texts()
    assert sentences == ["ein Hund läuft", "zwei Katzen schlafen und"]
    live.page.click("#attention .row button")
    assert live.page.locator("#attention .large svg").count() == 1


def test_sampling_draws_other_translations_and_a_temperature_of_0_is_greedy(live: Live) -> None:
    live.type("ein Hund läuft über die Wiese und zwei Katzen schlafen")
    greedy = live.output
    drawn = []
    for temperature in ("2", "0"):
        live.page.click('label:has(input[value="sample"])')
        live.page.evaluate("delete document.documentElement.dataset.translated")
        slider = live.page.locator('[data-setting="temperature"]')
        slider.evaluate(
            """(slider, value) => {
                slider.value = value;
                for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name));
            }""",
            temperature,
        )
        live.wait("translated")
        drawn.append(live.output)
    assert drawn[0] != greedy
    assert drawn[1] == greedy


def test_every_control_has_a_name_and_the_page_a_heading(live: Live) -> None:
    live.type("ein Hund läuft")
    live.page.click("[data-step=query]")
    live.page.wait_for_selector("#worked-result")
    nameless = """[...document.querySelectorAll("button, select, input, textarea, [role=button]")]
        .filter((one) => !one.ariaLabel && !one.textContent.trim())
        .filter((one) => ![...(one.labels ?? [])].some((label) => label.textContent.trim()))
        .map((one) => one.outerHTML)"""
    assert live.page.evaluate(nameless) == []
    assert live.page.locator("h1").all_inner_texts() == ["multihead\nsmall"]


def test_an_int8_page_says_how_often_it_differs_and_offers_float32(live: Live, made: PageParts) -> None:
    note = live.page.inner_text("#agreement")
    assert f"{100 * made.facts['agreement']:g} %" in note
    assert "inspect RUN --live" in note


def test_a_text_of_10_000_characters_is_translated_while_one_types_on(live: Live) -> None:
    text = (" . ".join(lines(400, seed=9)) * 3)[:10_000]
    assert len(text) == 10_000
    live.page.evaluate("delete document.documentElement.dataset.translated")
    live.page.fill("#source", text)
    assert live.page.evaluate("document.querySelector('#source').value.length") == 10_000
    live.page.focus("#source")
    live.page.keyboard.type(" Hund")
    assert live.page.input_value("#source").endswith("Hund")
    live.wait("translated")
    assert live.page.locator("#output .waiting").count() == 0
    assert live.page.locator("#output .sentence").count() > 10


def test_a_sentence_without_an_end_is_cut_and_the_page_says_so(live: Live) -> None:
    live.type("ein Hund läuft über die Wiese und zwei Katzen schlafen " * 20)
    assert "too long for the model" in live.page.inner_text(".foot >> nth=0")


@pytest.mark.parametrize("name", ["weights", "vocabularies", "engine", "facts", "worker"])
@pytest.mark.parametrize("fault", ["flipped", "cut short"])
def test_an_altered_page_says_so_and_translates_nothing(
    browser: Any, html: str, tmp_path: Path, name: str, fault: str
) -> None:
    begin = html.index(f'id="{name}">') + len(f'id="{name}">')
    end = html.index("</script>", begin)
    middle = (begin + end) // 2
    letter = "A" if html[middle] != "A" else "B"
    altered = html[:middle] + (letter + html[middle + 1 :] if fault == "flipped" else html[end:])
    one = Live(browser, altered, tmp_path / "altered.html")
    one.wait("fault")
    assert "altered or cut short: the checksum" in one.page.inner_text("#notices")
    one.page.close()


def test_the_page_speaks_korean_fits_a_phone_and_has_both_themes(live: Live) -> None:
    live.page.set_viewport_size({"width": 375, "height": 740})
    live.type("ein Hund läuft über die Wiese und zwei Katzen schlafen")
    live.page.locator("#output .word").nth(1).click()
    assert live.page.evaluate("document.documentElement.scrollWidth") <= 375
    live.page.click("text=한국어")
    assert live.page.evaluate("document.documentElement.lang") == "ko"
    assert "다른 선택지" in live.page.inner_text("#alternatives")
    background = "getComputedStyle(document.body).backgroundColor"
    before = live.page.evaluate(background)
    live.page.click('header button[aria-label="어둡게 또는 밝게"]')
    assert live.page.evaluate(background) != before
    live.page.click("text=English")


def test_both_languages_have_every_text(live: Live) -> None:
    script = (Path(__file__).parents[2] / "src/multihead/inspect/live/scripts/texts.js").read_text(
        encoding="utf-8"
    )
    table = script[script.index("{") : script.index("\n};") + 2]
    keys = live.page.evaluate(
        f"(() => {{ const all = {table}; return [all.en, all.ko].map(Object.keys); }})()"
    )
    assert keys[0] == keys[1]


def test_markup_in_a_text_stays_text(live: Live) -> None:
    live.type("<img src=x onerror=alert(1)> <b>Hund</b> &amp;")
    assert live.page.locator("#output img, #output b, #attention img").count() == 0


def test_facts_are_json_that_cannot_end_their_element(html: str) -> None:
    assert html.count("</script>") == 6
    assert json.loads(re.findall(r"const CHECKSUMS = (\{.*?\});", html)[0]).keys() == {
        "engine", "weights", "vocabularies", "facts", "worker",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("address", "languages", "kind", "text"),
    [
        ("#language=ko&kind=own&text=da%20bo%20%3Cb%3E", {"ko"}, "own", "da bo <b>"),
        ("#language=fr&kind=__proto__&text=da%20bo", {"en", "ko"}, "cross", "da bo"),
    ],
)
def test_the_address_chooses_language_map_and_text(
    browser: Any, html: str, tmp_path: Path, address: str, languages: set[str], kind: str, text: str
) -> None:
    path = tmp_path / "page.html"
    path.write_text(html, encoding="utf-8")
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri() + address)
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.evaluate("document.documentElement.lang") in languages
    assert page.input_value("#source") == text
    page.wait_for_selector("html[data-explained]", state="attached")
    assert page.is_checked(f'input[value="{kind}"]')
    page.close()
    assert errors == []
