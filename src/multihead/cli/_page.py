"""The page that runs a model in the browser: ``export --to page`` and ``inspect --live``."""

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from multihead.apps.export.live_page import live_page
from multihead.cli import _console
from multihead.errors import UserError
from multihead.run import Run, files

PAGES = (".html", ".htm")


def export(
    run: str,
    output: str | None,
    folder: str | None,
    calibrate: Sequence[str] = (),
    *,
    exact: bool = False,
    text: str | None = None,
) -> int:
    """Write a run's page to a file, to an installable folder, or to both; report size and verification."""
    if output is None and folder is None:
        raise UserError("no file was given", remedy="Usage: multihead export RUN --to page -o page.html")
    if output is not None and Path(output).suffix.lower() not in PAGES:
        raise UserError("a page is an .html file", place=output, remedy="Name one, or a folder by --pwa DIR.")
    if output is not None:
        files.check_file(output)
    content = live_page(
        Run.open(run), calibrate, exact=exact, text=text, folder=Path(folder) if folder is not None else None
    )
    console = _console.messages()
    if output is not None:
        page = content.page()
        page.save(output)
        size = len(page.html.encode()) / 1e6
        console.print(f"{output}: {size:.2f} MB; open it in a browser, with or without a network")
    if folder is not None:
        content.write_folder(Path(folder))
        console.print(f"{folder}: an installable page; serve it by HTTPS from any web server")
    agreement = content.blocks.agreement
    if content.blocks.facts.get("kind"):
        console.print("its equations give the model's scores in float32")
    elif agreement is None:
        console.print(
            "not verified: that needs sentences (--calibrate FILE) and the native part of the installation"
        )
    else:
        console.print(
            f"its greedy translations equal the model's for {agreement:.1%} of the sentences compared"
        )
    return 0


def open_on_desktop(address: str) -> bool:
    """Open a page in the user's browser; return whether this machine has a desktop to open it on."""
    has_desktop = sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    try:
        return has_desktop and webbrowser.open(address)
    except webbrowser.Error:
        return False
