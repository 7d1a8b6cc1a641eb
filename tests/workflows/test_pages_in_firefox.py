"""Every kind of page in Firefox, opened from disk: accessible, nothing cut, no error reported."""

import base64
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import live_sequences
import live_texts
import numpy as np
import pytest
import small_models
from accessibility import faults_in_firefox
from firefox import Marionette, open_firefox
from live_pages import page_parts, reversing, vocabulary
from PIL import Image
from reports import a_comparison
from small_translators import small_translator
from sweeps import sweep_page
from watching import Silent

from multihead.inspect.live import assemble
from multihead.inspect.page import PageOptions, explore_text, make_page
from multihead.inspect.page.kinds import CAUSAL
from multihead.inspect.report import compare_page
from multihead.tasks.detection.attention import DetectionInspection
from multihead.tasks.detection.detector import DetectedObject
from multihead.tasks.detection.inspection import page_of
from multihead.tasks.drawing import gallery
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.gallery import CaptionRow
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.images.attention import inspect_image
from multihead.tasks.images.page import explore_image
from multihead.tasks.language.attention import inspect_text
from multihead.tasks.translation.page import explore
from multihead.workflows.train import train


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marionette]:
    yield from open_firefox(tmp_path_factory.mktemp("firefox"))


def an_image() -> Image.Image:
    pixels = np.random.default_rng(3).integers(0, 256, (15, 15, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def a_translation(folder: Path) -> str:
    return make_page(explore(small_translator(), "zwei Hunde laufen .", "two dogs run .")).html


def a_text(folder: Path) -> str:
    made = small_models.gpt_generator()
    seen = inspect_text(made, "the king said that the king")
    return make_page(explore_text(seen, made.model, made.tokenizer, CAUSAL, PageOptions())).html


def a_classified_image(folder: Path) -> str:
    an_image().save(folder / "image.png")
    made = small_models.image_classifier()
    return make_page(explore_image(inspect_image(made, folder / "image.png"), made.model, PageOptions())).html


def a_drawing(folder: Path) -> str:
    seen = inspect_drawing(small_models.image_generator(image_size=12), "a green circle")
    return make_page(explore_drawing(seen)).html


def a_detection(folder: Path) -> str:
    weights_LHQrc = np.random.default_rng(5).random((2, 3, 1, 5, 7), dtype=np.float32)
    found = (DetectedObject("cat", 0.93, (10, 10, 60, 50)),)
    seen = DetectionInspection("street.png", Image.new("RGB", (120, 90)), found, weights_LHQrc)
    return page_of(seen, ("cat",), "runs/detr").html


def a_gallery(folder: Path) -> str:
    image = an_image()
    row = CaptionRow("a cat", image, image, image, image, "a dog", 7.5)
    return gallery.page_of("runs/cats", 1009, [row], [row]).html


@pytest.mark.parametrize(
    "make",
    [
        a_translation,
        a_text,
        a_classified_image,
        a_drawing,
        a_detection,
        a_gallery,
        lambda folder: compare_page(a_comparison()).html,
        lambda folder: sweep_page(),
    ],
    ids=["translation", "text", "image", "drawing", "detection", "gallery", "comparison", "sweep"],
)
def test_a_page_is_accessible_and_without_errors(
    firefox: Marionette, tmp_path: Path, make: Callable[[Path], str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text(make(tmp_path), encoding="utf-8")
    firefox.goto(page.as_uri())
    assert faults_in_firefox(firefox) == []


def test_the_report_of_a_training_is_accessible_and_without_errors(
    firefox: Marionette, tmp_path: Path, small: Callable[..., Any]
) -> None:
    train(small(), tmp_path / "run", Silent())
    firefox.goto((tmp_path / "run" / "report.html").as_uri())
    assert faults_in_firefox(firefox) == []


def test_a_live_page_translates_and_draws_every_head(firefox: Marionette, tmp_path: Path) -> None:
    tokenizer = vocabulary()
    made = page_parts(reversing(tokenizer, norm="pre"), tokenizer)
    assemble("small", made).save(tmp_path / "page.html")
    firefox.goto((tmp_path / "page.html").as_uri())
    firefox.wait_for("document.documentElement.dataset.ready")
    check = made.facts["checks"][0]
    source, target = (tokenizer.decode(check[side]) for side in ("source", "target"))
    firefox.run(
        "(() => { const area = document.querySelector('#source'); "
        f"area.value = {source!r}; area.dispatchEvent(new Event('input')); }})()"
    )
    firefox.wait_for("document.documentElement.dataset.explained")
    assert firefox.run("document.querySelector('#output').innerText").split() == target.split()
    assert firefox.run("document.querySelectorAll('.mini canvas').length") == 2 * (5 + 1)
    firefox.wait_for("document.querySelector('#checked.good')")
    firefox.run("document.querySelector('[data-step=score]').click()")
    firefox.wait_for("document.documentElement.dataset.worked === 'score'")
    assert faults_in_firefox(firefox) == []


def test_live_pages_of_texts_and_images_answer(firefox: Marionette, tmp_path: Path) -> None:
    letters, pieces, png = live_texts.lossless(), live_sequences.vocabulary(), io.BytesIO()
    an_image().save(png, "PNG")
    image = live_sequences.image_page(live_sequences.classifier())
    shown = {"image": base64.b64encode(png.getvalue()).decode()}
    pages = {
        "written": live_texts.parts_of(live_texts.gpt(letters), letters),
        "filled": live_sequences.masked_page(live_sequences.masked(pieces), pieces),
        "classified": replace(image, facts={**image.facts, **shown}),
    }
    for answered, made in pages.items():
        assemble("small", made).save(tmp_path / "page.html")
        firefox.goto((tmp_path / "page.html").as_uri())
        firefox.wait_for(f"document.documentElement.dataset.{answered}")
        firefox.wait_for("document.querySelector('#checked.good')")
        assert faults_in_firefox(firefox) == [], answered
