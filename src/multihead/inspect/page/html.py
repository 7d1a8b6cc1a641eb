"""Assembles the page: scripts, style and data in one HTML file."""

import json
from typing import Protocol

from multihead.inspect import korean
from multihead.inspect.page.packing import Json
from multihead.inspect.page.shell import HERE, HtmlPage, shell

SCRIPTS = (
    "words.js",
    "data.js",
    "draw.js",
    "export.js",
    "matrix.js",
    "predictions.js",
    "overlay.js",
    "position_maps.js",
    "image.js",
    "caption.js",
    "alignment.js",
    "heads.js",
    "sentence.js",
    "lattice.js",
    "tree.js",
    "neighbours.js",
    "embeddings.js",
    "equation.js",
    "steps.js",
    "flow_parts.js",
    "flow_layout.js",
    "flow_draw.js",
    "flow.js",
    "main.js",
)
"""In order: a script may use the definitions of earlier scripts."""
BODY = """\
<header id="top"></header>
<main id="main"><noscript>This page needs JavaScript, which is all in this file.</noscript></main>
<footer id="bottom"></footer>
<div id="tip" role="status" aria-live="polite" hidden></div>
<script type="application/json" id="data">{data}</script>"""


class Explored(Protocol):
    """Source of a page."""

    @property
    def content(self) -> Json:
        """Data of the page."""
        ...


def make_page(exploration: Explored) -> HtmlPage:
    """Return an exploration as one HTML file.

    The data are embedded in a script element of type JSON, with every "<" escaped.
    """
    data = to_json({**exploration.content, "korean": korean.PAGE}).replace("<", "\\u003c")
    return shell(
        exploration.content["sentence"],
        body=BODY.format(data=data),
        scripts=[HERE / "scripts" / name for name in SCRIPTS],
    )


def to_json(content: Json) -> str:
    """Return JSON in ASCII, so that line separators and other special characters are escaped."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False)
