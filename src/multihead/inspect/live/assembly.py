"""Assembles the live page: one HTML file that fetches nothing, with its data compressed inside."""

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from multihead.inspect import figures
from multihead.inspect.page import HtmlPage
from multihead.inspect.page.shell import STYLES, asset, digest, join_scripts

HERE = Path(__file__).parent
PAGE = HERE.parent / "page"
SCRIPTS = (
    PAGE / "scripts" / "draw.js",
    *(
        HERE / "scripts" / name
        for name in (
            "texts.js",
            "state.js",
            "panes.js",
            "words.js",
            "maps.js",
            "ribbon.js",
            "attention.js",
            "working.js",
            "writing.js",
            "filling.js",
            "image.js",
            "main.js",
        )
    ),
)
"""Parts of the page's script, in order: a part may use the definitions of earlier parts."""
POLICY = (
    "default-src 'none'; script-src '{script}' 'wasm-unsafe-eval'; worker-src blob:{origin}; "
    "style-src '{style}'; img-src blob: data:{origin}; base-uri 'none'; form-action 'none'"
)
"""The content security policy: no request at all; only this script, this style, and WebAssembly."""


@dataclass(frozen=True, slots=True)
class PageBlocks:
    """Data blocks of a page; the page checks each against its SHA-256.

    Attributes:
        engine: the engine, WebAssembly.
        weights: the model.
        vocabularies: the worker's vocabularies, as JSON.
        facts: facts for the worker and the page, as JSON.
        worker: files of the worker's script, in order.
    """

    engine: bytes
    weights: bytes
    vocabularies: Mapping[str, Any]
    facts: Mapping[str, Any]
    worker: Sequence[Path]

    def packed(self) -> dict[str, bytes]:
        """Return each block's content by name."""
        return {
            "engine": self.engine,
            "weights": self.weights,
            "vocabularies": _json(self.vocabularies),
            "facts": _json(self.facts),
        }


def assemble(title: str, blocks: PageBlocks, *, links: str = "", installable: bool = False) -> HtmlPage:
    """Return the page.

    Args:
        title: window title, as text.
        blocks: data of the page.
        links: further markup for the head.
        installable: allow the service worker, manifest and icons of an installable folder.
    """
    contents = blocks.packed()
    worker = join_scripts(blocks.worker)
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    checksums["worker"] = hashlib.sha256(worker.encode()).hexdigest()
    constants = f"const CHECKSUMS = {json.dumps(checksums)};\nconst INSTALLABLE = {json.dumps(installable)};"
    # The page checks the worker's script before it runs it.
    script = join_scripts([*blocks.worker[:1], *SCRIPTS], before=constants)
    style = "\n".join(map(asset, (*STYLES, HERE / "live.css")))
    origin = " 'self'" if installable else ""
    policy = POLICY.format(script=digest(script), style=digest(style), origin=origin)
    if installable:
        policy += "; manifest-src 'self'"
    elements = [
        *(_block(name, gzip.compress(content, 9, mtime=0)) for name, content in contents.items()),
        # Uncompressed: the page checks the script and starts the worker before it can decompress anything.
        _block("worker", worker.encode()),
    ]
    page = Template(asset(HERE / "live.html")).substitute(
        title=html.escape(figures.visible(title, 80)),
        policy=policy,
        links=links,
        style=style,
        blocks="\n".join(elements),
        script=script,
    )
    return HtmlPage(page + "\n")


def _block(name: str, content: bytes) -> str:
    return f'<script type="text/plain" id="{name}">{base64.b64encode(content).decode("ascii")}</script>'


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
