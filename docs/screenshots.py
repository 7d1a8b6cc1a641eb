"""Take the pictures of docs/inspect.md from a page.

    multihead inspect runs/multi30k-de-en \\
        "Zwei Frauen in roten Kleidern tanzen, während ein Mann Gitarre spielt." -o page.html
    python docs/screenshots.py page.html docs/images

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
    "alignment": 880,
    "cross": 780,
    "decoder": 780,
    "sentence": 860,
    "search": 1090,
    "inputs": 800,
    "steps": 800,
}
"""Tabs, and how much of each is shown."""
DARK = ("sentence", "cross")
COLOURS = 200  # of a picture's palette: enough for flat colours, and a third of the size


def main(page_file: Path, folder: Path) -> None:
    """Write one picture a tab: inspect-TAB.png, and inspect-TAB-dark.png of some."""
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
        for scheme, tabs in (("light", tuple(TALLEST)), ("dark", DARK)):
            page.emulate_media(color_scheme=scheme)
            page.goto(page_file.resolve().as_uri())
            for tab in tabs:
                page.click(f"#tab-{tab}")
                prepare(page, tab)
                name = f"inspect-{tab}{'-dark' if scheme == 'dark' else ''}.png"
                save(
                    page.screenshot(
                        full_page=True, clip={"x": 0, "y": 0, "width": 1120, "height": TALLEST[tab]}
                    ),
                    folder / name,
                )
        context.close()


def prepare(page: Any, tab: str) -> None:
    """Show what a still picture cannot: what is seen while pointing at something."""
    if tab == "sentence":
        page.hover('[data-word="query-7"]')


def save(png: bytes, path: Path) -> None:
    """Write a picture with a palette."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
