"""Take the screenshots of README.md and docs/how-to/inspect.md from a page.

    multihead inspect runs/multi30k-de-en --live -o live.html
    python docs/screenshots.py live.html docs/images live

    multihead inspect runs/multi30k-de-en \\
        "Zwei Frauen in roten Kleidern tanzen, während ein Mann Gitarre spielt." -o page.html
    python docs/screenshots.py page.html docs/images
    multihead inspect runs/vit-digits eight.png -o page.html
    python docs/screenshots.py page.html docs/images vit
    multihead inspect runs/nsmc-classify --words -o page.html \\
        "배우들의 연기는 좋았지만 이야기가 너무 지루했다"
    python docs/screenshots.py page.html docs/images bert

Needs Chromium and playwright (`pip install '.[browser]'`).
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

TALLEST = {
    "": {
        "flow": 1160,
        "alignment": 880,
        "cross": 780,
        "decoder": 780,
        "sentence": 860,
        "search": 1090,
        "embeddings": 800,
        "steps": 800,
    },
    "bert": {"sentence": 552},
    "vit": {"image": 1412},
}
"""Tabs of a translator's page, and of others', and how much of each is shown."""
DARK = {"": ("sentence", "cross"), "bert": (), "vit": ()}
SENTENCE = "Zwei junge Frauen tanzen, während ein Mann Gitarre spielt."
LIVE_WIDTH = 1280
COLOURS = 200  # of a screenshot's palette: enough for flat colours, and a third of the size


def main(page_file: Path, folder: Path, model: str = "") -> None:
    """Write one screenshot a tab: inspect-TAB.png, and inspect-TAB-dark.png of some."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        context = driver.chromium.launch_persistent_context(
            profile,
            executable_path=browser,
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"],
            viewport={"width": 1120, "height": 700},
        )
        page: Any = context.new_page()
        if model == "live":
            take_live(page, page_file, folder)
            context.close()
            return
        for scheme, tabs in (("light", tuple(TALLEST[model])), ("dark", DARK[model])):
            page.emulate_media(color_scheme=scheme)
            page.goto(page_file.resolve().as_uri())
            for tab in tabs:
                page.click(f"#tab-{tab}")
                prepare(page, model, tab)
                name = (
                    "-".join(filter(None, ["inspect", model, tab, scheme if scheme == "dark" else ""]))
                    + ".png"
                )
                save(
                    page.screenshot(
                        full_page=True,
                        clip={"x": 0, "y": 0, "width": 1120, "height": TALLEST[model][tab]},
                    ),
                    folder / name,
                    COLOURS if model != "vit" else None,
                )
        context.close()


def take_live(page: Any, page_file: Path, folder: Path) -> None:
    """Write live.png, a translator's live page in use, and live-working.png, a weight worked out."""
    page.set_viewport_size({"width": LIVE_WIDTH, "height": 900})
    page.emulate_media(color_scheme="light")
    page.goto(page_file.resolve().as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    for end in range(10, len(SENTENCE) + 1, 8):  # as one types: the first translation is slower than the next
        page.fill("#source", SENTENCE[:end])
        page.wait_for_timeout(300)
    page.evaluate("delete document.documentElement.dataset.explained")
    page.fill("#source", SENTENCE)
    page.wait_for_selector("html[data-explained]", state="attached")
    page.evaluate("document.activeElement.blur()")
    page.click("#output .word >> nth=3")
    page.click("[data-step=score]")
    page.wait_for_selector("html[data-worked=score]", state="attached")
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")
    box = page.locator("#attention").bounding_box()
    height = box["y"] + page.evaluate("scrollY") + box["height"] + 10
    clip = {"x": 0, "y": 0, "width": LIVE_WIDTH, "height": height}
    save(page.screenshot(full_page=True, clip=clip), folder / "live.png", COLOURS)
    save(page.locator("#working").screenshot(), folder / "live-working.png", COLOURS)


def prepare(page: Any, model: str, tab: str) -> None:
    """Show what a still cannot: what is seen while pointing at something."""
    if tab == "sentence":
        page.hover(f'[data-word="query-{1 if model else 7}"]')


def save(png: bytes, path: Path, colours: int | None) -> None:
    """Write an image with a palette of so many colours; None: without one, for a page that shows images."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    (image.quantize(colours) if colours else image).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
