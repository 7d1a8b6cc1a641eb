"""A page that runs a model in the browser, as one file or as a folder that browsers can install."""

import base64
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any

from PIL import Image, ImageDraw

from multihead.apps.export import manifest
from multihead.apps.export import page as exported
from multihead.apps.export.calibration import calibration_lines
from multihead.apps.export.folder import refuse_used, write_folder
from multihead.data.images.opening import Form, as_image, fit_image, open_image
from multihead.errors import UserError
from multihead.inspect.live import assemble
from multihead.inspect.page import HtmlPage
from multihead.inspect.page.shell import asset
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.text.lines import read_lines

PARTS = Path(__file__).parent / "live_page_parts"
TARGET = "page"
ICONS = (192, 512)
"""Widths of the icons, which installing needs."""
MOST_TEXTS = 200
LINKS = """\
<link rel="manifest" href="manifest.webmanifest">
<link rel="icon" href="icon-192.png">
<meta name="theme-color" content="#1f66a8">
"""


@dataclass(frozen=True, slots=True)
class LivePage:
    """A model's page.

    Attributes:
        title: its title.
        blocks: its data.
    """

    title: str
    blocks: exported.PageParts

    def page(self) -> HtmlPage:
        """Return the page as one HTML file."""
        return assemble(self.title, self.blocks)

    def write_folder(self, folder: Path) -> None:
        """Write the page as an installable folder for a web server, with a manifest and a service worker.

        Raises:
            UserError: the folder is not empty, or it cannot be written.
        """
        html = assemble(self.title, self.blocks, links=LINKS, installable=True).html
        version = hashlib.sha256(html.encode()).hexdigest()[:16]

        def fill(partial: Path) -> None:
            names = ["./", "index.html", "manifest.webmanifest", *(f"icon-{width}.png" for width in ICONS)]
            worker = Template(asset(PARTS / "service-worker.js"))
            filled = worker.substitute(version=version, names=json.dumps(names))
            web_manifest = json.dumps(self._manifest(), ensure_ascii=False, indent=1) + "\n"
            for name, content in {
                "index.html": html.encode(),
                "manifest.webmanifest": web_manifest.encode(),
                "service-worker.js": (filled + "\n").encode(),
                **{f"icon-{width}.png": icon(width) for width in ICONS},
            }.items():
                (partial / name).write_bytes(content)
            manifest.write(partial, TARGET, {"agreement": self.blocks.agreement})

        write_folder(folder, fill)

    def _manifest(self) -> dict[str, Any]:
        return {
            "name": f"{self.title} · multihead",
            "short_name": self.title[:24],
            "start_url": "./",
            "scope": "./",
            "display": "standalone",
            "background_color": "#f6f8fa",
            "theme_color": "#1f66a8",
            "icons": [
                {
                    "src": f"icon-{width}.png",
                    "sizes": f"{width}x{width}",
                    "type": "image/png",
                    "purpose": "any maskable",
                }
                for width in ICONS
            ],
        }  # fmt: skip


def live_page(
    run: Run,
    named: Sequence[str] = (),
    *,
    exact: bool = False,
    text: str | None = None,
    folder: Path | None = None,
) -> LivePage:
    """Return the page of a run.

    Args:
        run: a translator, a language model, a masked language model, or an image classifier.
        named: files of sentences for examples and verification; empty: the run's validation data, if it is
            here.
        exact: weights in float32 instead of int8.
        text: initial text; for an image classifier, an image file.
        folder: destination; refused before anything is computed unless it is empty.

    Raises:
        UserError: the page cannot express the model; a file cannot be read.
    """
    if folder is not None:
        refuse_used(folder)
    if run.task == "language":
        parts = exported.text_parts(run, exact=exact)
    elif run.task == "masked":
        parts = exported.masked_parts(run, _texts(run, named), exact=exact)
    elif run.task == "images":
        parts = exported.image_parts(run, exact=exact)
    elif run.task == "translation":
        parts = exported.parts(run, _lines(run, named), exact=exact)
    else:
        fact = f'a page cannot express this model: its task is "{run.task}"'
        remedy = "Pages run translators, language models, BERT and ViT; see `multihead inspect`."
        raise UserError(fact, place=str(run.folder), remedy=remedy)
    facts = dict(parts.facts)
    if text is not None:
        facts |= {"image": _png(run, text)} if run.task == "images" else {"text": text}
    return LivePage(parts.facts["name"], replace(parts, facts=facts))


def _lines(run: Run, named: Sequence[str]) -> Sequence[str]:
    if named:
        return calibration_lines(run, named)
    try:
        return calibration_lines(run)
    except UserError:
        return []  # a run that was copied here without its data has a page without examples


def _texts(run: Run, named: Sequence[str]) -> Sequence[str]:
    """Return texts for examples, one a line."""
    if named:
        return calibration_lines(run, named)
    data = run.recipe.data
    try:
        files = [locate_file(data.dir, name) for name in data.valid_files or data.files]
        return [line for file in files for line in islice(read_lines(str(file)), MOST_TEXTS)]
    except UserError:
        return []


def _png(run: Run, path: str) -> str:
    """Return an image as the model reads it, a PNG in base64."""
    settings: Any = run.recipe.model
    pixels = fit_image(open_image(Path(path)), Form(settings.image_size, settings.channels))
    file = io.BytesIO()
    as_image(pixels).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def icon(width: int) -> bytes:
    """Return the page's icon as a PNG: multihead's logo, three heads that meet."""
    scale = 4  # drawn larger, then reduced: smooth edges
    unit = width * scale / 32
    image = Image.new("RGB", (width * scale, width * scale), "#1f66a8")
    draw = ImageDraw.Draw(image)

    def dot(x: float, y: float, radius: float, colour: str) -> None:
        box = [(x - radius) * unit, (y - radius) * unit, (x + radius) * unit, (y + radius) * unit]
        draw.ellipse(box, fill=colour)

    for head in (8, 16, 24):
        for step in range(201):  # a cubic curve from (head, 8) to (16, 24)
            t = step / 200
            x = head * ((1 - t) ** 3 + 3 * t * (1 - t) ** 2) + 16 * (3 * t * t * (1 - t) + t**3)
            y = 8 * (1 - t) ** 3 + 51 * t * (1 - t) ** 2 + 45 * t * t * (1 - t) + 24 * t**3
            dot(x, y, 1.1, "#ffffff")
        dot(head, 8, 2.6, "#ffb370")
    dot(16, 24, 3, "#ffffff")
    file = io.BytesIO()
    image.resize((width, width), Image.Resampling.LANCZOS).save(file, "PNG", optimize=True)
    return file.getvalue()
