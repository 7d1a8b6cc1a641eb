"""Make the images of docs/images anew, from run folders and from the figures in results/.

    python docs/images.py
    python docs/images.py RUNS --only serve 'inspect-*' --out build/images

RUNS (default: runs) holds run folders and sweeps under the names that `multihead train`, `sweep` and
`quickstart` give them. An image whose run is absent is named, with the command that makes the run.
Screenshots need Chromium, playwright (`pip install '.[browser]'`) and a Korean font; compare.png also
needs the corpus of the sweep.
"""

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from fnmatch import fnmatch
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image

from multihead.apps.studies import gradients
from multihead.apps.studies.sweep import MemberRow, draw, read_sweep
from multihead.data.images.digits import draw_digits

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
COLOURS = 200  # of a screenshot's palette: enough for flat colours, and a third of the size
MULTIHEAD = (sys.executable, "-m", "multihead")
TRANSLATOR, QUICKSTART = "multi30k-de-en", "quickstart-de-en"
COMMANDS = {
    TRANSLATOR: "train multi30k-de-en-fast --minutes 22 --run runs/multi30k-de-en",
    QUICKSTART: "quickstart",
    "vit-digits": "train vit-digits --model.patch_size 2 --model.pooling class --training.steps 400 "
    "--data.generated 3000 --run runs/vit-digits",
    "ladder": "sweep ladder",
    "table3-mini": "sweep table3-mini",
}
"""Commands that make a run, if it is not `multihead train RUN`."""
REVIEW = "배우들의 연기는 좋았지만 이야기가 너무 지루했다"
WOMEN = "Zwei Frauen in roten Kleidern tanzen, während ein Mann Gitarre spielt."
TYPED = "Zwei junge Frauen tanzen, während ein Mann Gitarre spielt."
SERVED = """\
Zwei junge Frauen sitzen auf einer Bank im Park. Ein Hund läuft durch den Schnee.

Der Mann im blauen Hemd spielt Gitarre, während die Kinder tanzen."""


class Studio:
    """Commands of multihead on run folders, and a browser that starts with the first screenshot."""

    def __init__(self, runs: Path, stack: ExitStack) -> None:
        self.runs, self.stack = runs.resolve(), stack
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.written = cache(self._written)

    def _written(self, command: str, *arguments: str) -> Path:
        """Return the page that a command writes."""
        page = self.folder / f"{len([*self.folder.iterdir()])}.html"
        option = "--page" if command == "draw" else "-o"
        subprocess.run([*MULTIHEAD, command, *arguments, option, page], cwd=self.runs.parent, check=True)
        return page

    @cached_property
    def browser(self) -> Any:
        """Chromium."""
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 (optional)

        names = ("chromium", "chromium-browser", "google-chrome")
        program = next(filter(None, map(shutil.which, names)), None)
        driver = self.stack.enter_context(sync_playwright())
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
        return driver.chromium.launch(executable_path=program, args=flags)

    def open(self, page: str | Path, width: int = 1120, scale: float = 1, theme: str = "light") -> Any:
        """Return a page in a window of its own."""
        size = {"width": width, "height": 700}
        window = self.browser.new_page(viewport=size, device_scale_factor=scale, color_scheme=theme)
        window.goto(page.as_uri() if isinstance(page, Path) else page)
        return window


Maker = Callable[[Studio, str, Path], None]
MAKERS: dict[str, tuple[str, Maker]] = {}
"""For each image its run, and the function that makes it from the studio, the run's folder and the file."""


def makes(name: str, run: str = "") -> Callable[[Maker], Maker]:
    """Register a function that makes an image of a run or a sweep; "": of figures in results/."""

    def register(make: Maker) -> Maker:
        MAKERS[name] = (run, make)
        return make

    return register


def save(page: Any, file: Path, height: float, colours: int | None = COLOURS) -> None:
    """Write the upper part of a page."""
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
    save_png(page.screenshot(full_page=True, clip=clip), file, colours)


def save_png(png: bytes, file: Path, colours: int | None = COLOURS) -> None:
    """Write an image with a palette of so many colours; None: with all, for a page that shows images."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    (image.quantize(colours) if colours else image).save(file, optimize=True)


# --- screenshots --------------------------------------------------------------------------------------


def take_tab(
    tab: str, height: int, shown: tuple[str, ...], point: str, studio: Studio, run: str, file: Path
) -> None:
    """Take a tab of the page of `multihead inspect RUN SHOWN`, pointing at a word."""
    name, _, theme = tab.partition("-")
    page = studio.open(studio.written("inspect", run, *shown), theme=theme or "light")
    page.click(f"#tab-{name}")
    if name not in ("alignment", "flow"):  # two images show the explanation of the terms
        page.click(".terms summary")
    if point:
        page.hover(f'[data-word="{point}"]')
    save(page, file, height)


for name, height, point in (
    ("alignment", 1000, ""),
    ("cross-dark", 780, ""),
    ("decoder", 780, ""),
    ("sentence-dark", 860, "query-7"),
    ("search", 1090, ""),
    ("embeddings", 800, ""),
    ("steps", 800, ""),
):
    makes(f"inspect-{name}.png", TRANSLATOR)(partial(take_tab, name, height, (WOMEN,), point))
makes("inspect-flow.png", QUICKSTART)(partial(take_tab, "flow", 1160, ("siebenhundertdreiundvierzig",), ""))
makes("inspect-bert-sentence.png", "nsmc-classify")(
    partial(take_tab, "sentence", 552, (REVIEW, "--words"), "query-1")
)


@makes("inspect-vit-image.png", "vit-digits")
def overlay(studio: Studio, run: str, file: Path) -> None:
    """Take the overlay of an eight that is not in the training data."""
    eight = studio.folder / "eight.png"
    Image.fromarray(draw_digits(10, seed=8)[0][8]).save(eight)
    page = studio.open(studio.written("inspect", run, str(eight)))
    page.click("#tab-image")
    page.click(".terms summary")
    save(page, file, 1416, colours=None)


def open_live_page(studio: Studio, run: str) -> Any:
    """Return a translator's live page in use, with a weight worked out."""
    page = studio.open(studio.written("inspect", run, "--live"), width=1280)
    page.wait_for_selector("html[data-ready]", state="attached")
    for end in range(10, len(TYPED) + 1, 8):  # as one types: the first translation is slower than the next
        page.fill("#source", TYPED[:end])
        page.wait_for_timeout(300)
    page.evaluate("delete document.documentElement.dataset.explained")
    page.fill("#source", TYPED)
    page.wait_for_selector("html[data-explained]", state="attached")
    page.click("#output .word >> nth=3")
    page.click("[data-step=score]")
    page.wait_for_selector("html[data-worked=score]", state="attached")
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")
    return page


@makes("live.png", TRANSLATOR)
def live_page(studio: Studio, run: str, file: Path) -> None:
    """Take the live page down to its maps."""
    page = open_live_page(studio, run)
    box = page.locator("#attention").bounding_box()
    save(page, file, box["y"] + page.evaluate("scrollY") + box["height"] + 10)


@makes("live-working.png", TRANSLATOR)
def worked_weight(studio: Studio, run: str, file: Path) -> None:
    """Take the part of the live page that works out a weight."""
    save_png(open_live_page(studio, run).locator("#working").screenshot(), file)


@makes("serve.png", TRANSLATOR)
def served_page(studio: Studio, run: str, file: Path) -> None:
    """Take the page of `multihead serve`, pointing at a word."""
    command = [*MULTIHEAD, "serve", run, "--port", "0"]
    with subprocess.Popen(command, cwd=studio.runs.parent, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = next(line.strip() for line in server.stdout if line.startswith("http"))
            page = studio.open(f"{address}/#q={quote(SERVED)}", scale=1.5)
            page.locator('#output .word[style*="--doubt-alpha"]').last.wait_for()
            page.focus("#input")
            page.keyboard.press("Control+End")  # the alternatives shown are those of the last sentence
            page.locator('#output .word:text-is("a")').first.hover()
            page.locator("#mirror .word.lit").first.wait_for()
            save(page, file, 700)
        finally:
            server.terminate()


@makes("drawing.png", "dalle-shapes")
def drawn_captions(studio: Studio, run: str, file: Path) -> None:
    """Take the captions not seen in training from the page of `multihead draw`."""
    page = studio.open(studio.written("draw", run), width=1020)
    save_png(page.locator("main > section").last.screenshot(), file, None)


@makes("compare.png", "ladder")
def compared_runs(studio: Studio, run: str, file: Path) -> None:
    """Take the comparison of a sweep's members down to the learning curves."""
    members = [f"{run}/{name}" for name in ("lstm", "attention", "conv", "transformer")]
    save(studio.open(studio.written("compare", *members), width=1200), file, 1385)


@makes("sweep.png", "table3-mini")
def sweep_table(studio: Studio, run: str, file: Path) -> None:
    """Take the page of a sweep."""
    save(studio.open(studio.runs.parent / run / "table.html", width=1000, scale=1.5), file, 960)


# --- plots --------------------------------------------------------------------------------------------


@makes("zweiundvierzig.svg", QUICKSTART)
def quickstart_map(studio: Studio, run: str, file: Path) -> None:
    """Copy the attention map that the quickstart draws."""
    shutil.copyfile(studio.runs.parent / run / "attention.svg", file)


@makes("depth.svg")
def depth_plot(studio: Studio, run: str, file: Path) -> None:
    """Plot the sweep `depth` from its table."""
    with (RESULTS / "depth" / "table.csv").open(encoding="utf-8", newline="") as table:
        losses = {line["member"]: float(line["valid_loss"]) for line in csv.DictReader(table)}
    sweep = read_sweep("depth")
    draw(sweep, [MemberRow(each, "done", {"valid_loss": losses[each.name]}) for each in sweep.members], file)


@makes("gradients.svg")
def gradients_plot(studio: Studio, run: str, file: Path) -> None:
    """Plot what `multihead gradients` measured."""
    content = json.loads((RESULTS / "gradients" / "gradients.json").read_text(encoding="utf-8"))
    gradients.draw([gradients.Curve(**layer) for layer in content["layers"]], content["distances"], file)


@makes("complexity.svg")
def complexity_plot(studio: Studio, run: str, file: Path) -> None:
    """Plot what benchmarks/complexity.py measured."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import complexity  # noqa: PLC0415 (a script beside the package)

    complexity.plot(complexity.read(RESULTS / "complexity.json"), file)


def main() -> None:
    """Make the images; name those that could not be made, and why."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="?", type=Path, default=Path("runs"))
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="as serve, or 'inspect-*'")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args()
    names = [name for name in MAKERS if any(fnmatch(Path(name).stem, pattern) for pattern in given.only)]
    if not names:
        parser.error(f"no image of such a name; there are {', '.join(Path(name).stem for name in MAKERS)}")
    given.out.mkdir(parents=True, exist_ok=True)
    failures = []
    with ExitStack() as stack:
        studio = Studio(given.runs, stack)
        for name in names:
            run, make = MAKERS[name]
            if run and not (studio.runs / run).is_dir():
                failures.append(
                    f"{name}: needs {given.runs / run}: multihead {COMMANDS.get(run, f'train {run}')}"
                )
                continue
            try:
                make(studio, f"{studio.runs.name}/{run}", given.out / name)
                print(given.out / name)
            except Exception as error:
                failures.append(f"{name}: {type(error).__name__}: {error}")
    if failures:
        sys.exit("\n".join(["not made:", *failures]))


if __name__ == "__main__":
    main()
