"""The page of a sentence: scripts that stand beside this file, and the data, in one file."""

import json
from typing import Protocol

from multihead.inspect.page.packing import Json
from multihead.inspect.page.shell import HERE, Page, shell

SCRIPTS = (
    "data.js",
    "draw.js",
    "export.js",
    "matrix.js",
    "guesses.js",
    "picture.js",
    "near.js",
    "patches.js",
    "words.js",
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
BODY = """\
<header id="top"></header>
<main id="main"><noscript>This page draws with JavaScript, all of which is in this file.</noscript></main>
<footer id="bottom"></footer>
<div id="tip" role="status" aria-live="polite" hidden></div>
<script type="application/json" id="data">{data}</script>"""


class Explored(Protocol):
    """What a page can be made of."""

    @property
    def content(self) -> Json:
        """What the page reads."""
        ...


def make_page(exploration: Explored) -> Page:
    """Return an exploration as one HTML file.

    The data stand in an element that is not run, and no "<" stands in them.
    """
    data = to_json(exploration.content).replace("<", "\\u003c")
    return shell(
        exploration.content["sentence"],
        body=BODY.format(data=data),
        scripts=[HERE / "scripts" / name for name in SCRIPTS],
    )


def to_json(content: Json) -> str:
    """JSON in ASCII only: line separators and all else that may be more than text are escaped."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False)
