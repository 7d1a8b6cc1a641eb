"""The page itself: template, styles and scripts that stand beside this file, and the data, in one file."""

import base64
import hashlib
import html
import json
from dataclasses import dataclass
from pathlib import Path
from string import Template

from multihead.inspect import pictures
from multihead.inspect.page.exploring import Exploration
from multihead.inspect.page.packing import Json
from multihead.run import files

HERE = Path(__file__).parent
SCRIPTS = (
    "data.js",
    "draw.js",
    "export.js",
    "matrix.js",
    "alignment.js",
    "heads.js",
    "sentence.js",
    "lattice.js",
    "tree.js",
    "neighbours.js",
    "inputs.js",
    "equation.js",
    "steps.js",
    "main.js",
)
"""In this order; each may use what those before it define."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page. In a notebook it is shown in place.

    Attributes:
        html: the whole file.
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page. Raises ``UserError`` where the disk refuses."""
        files.write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, apart from the notebook's styles and scripts."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:760px;border:0" title="attention"></iframe>'
        )


def make_page(exploration: Exploration) -> Page:
    """Return an exploration as one HTML file.

    The data stand in an element that is not run, and no "<" stands in them. The page's own security policy
    lets nothing run but the scripts below, by their hash, and nothing be fetched.
    """
    script = "\n".join(["(() => {", '"use strict";', *map(_asset, SCRIPTS), "})();"])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    filled = Template(_asset("page.html")).substitute(
        title=html.escape(f"{pictures.visible(exploration.content['sentence'], 80)} · multihead"),
        digest=digest,
        style=_asset("page.css"),
        script=script,
        data=to_json(exploration.content).replace("<", "\\u003c"),
    )
    return Page(filled)


def to_json(content: Json) -> str:
    """JSON in ASCII only: line separators and all else that may be more than text are escaped."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _asset(name: str) -> str:
    folder = "scripts" if name.endswith(".js") else "."
    return (HERE / folder / name).read_text(encoding="utf-8").strip()
