"""Run the chapters of the course and write them as notebooks and as web pages.

    python docs/course/build.py                 all chapters, both languages: build/course
    python docs/course/build.py 05 --small      one chapter, its experiment only to see that it runs

A chapter is a Markdown file in jupytext's format: a page to read, and a notebook that Jupyter opens. Every
chapter runs in a process of its own, as many at a time as there are cores, each on an equal share of them.
Writes NN-name.ipynb and NN-name.html, and live.html: the quickstart's model, which is trained once and kept
in build/course/live. Nothing is fetched.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from pages import index, page
from traitlets.config import Config

from multihead.system.cores import usable_cores

HERE = Path(__file__).parent
LANGUAGES = ("en", "ko")


def chapters(language: str, wanted: str = "") -> list[Path]:
    """Return the chapters of a language in order; ``wanted``: those whose names begin so."""
    return sorted(path for path in (HERE / language).glob("[0-9][0-9]-*.md") if path.name.startswith(wanted))


def run(path: Path, folder: Path) -> float:
    """Run a chapter; write its notebook and its page; return the seconds it took."""
    notebook = jupytext.read(path)
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
    began = time.monotonic()
    resources = {"metadata": {"path": HERE}}
    with tempfile.TemporaryDirectory() as sockets:
        NotebookClient(
            notebook, timeout=3600, kernel_name="python3", resources=resources, config=_private(sockets)
        ).execute()
    spent = time.monotonic() - began
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{path.stem}.ipynb")
    (folder / f"{path.stem}.html").write_text(page(notebook, path), encoding="utf-8", newline="\n")
    return spent


def write_live_page(out: Path, *, small: bool) -> float:
    """Write the live page of the quickstart's model, trained unless it is there; return the seconds."""
    began = time.monotonic()
    folder = (out / ("live-small" if small else "live")).resolve()
    page = folder / "run" / "live.html"
    if not page.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "multihead", "quickstart", "--run", "run"]
        done = subprocess.run(
            [*command, *(["--steps", "4"] if small else [])],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        if not page.exists():
            sys.exit(f"no live page: {' '.join(command)} in {folder}\n{done.stdout}")
    shutil.copyfile(page, out / "live.html")
    return time.monotonic() - began


def _private(folder: str) -> Config:
    """Return how to talk to a kernel: by files, because the kernel warns that TCP is open to other users."""
    if os.name == "nt":  # Windows has nothing else
        return Config()
    return Config({"KernelManager": {"transport": "ipc", "ip": str(Path(folder) / "kernel")}})


def run_all(paths: Sequence[Path], out: Path, jobs: int, *, small: bool) -> None:
    """Run chapters and make the live page, several at a time; the first failure ends it."""
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // jobs)))
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(write_live_page, out, small=small): "live page"}
        for path in paths:
            waiting[pool.submit(run, path, out / path.parent.name)] = f"{path.parent.name} {path.stem}"
        try:
            for done in as_completed(waiting):
                print(f"{waiting[done]}: {done.result():.0f} s", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("chapter", nargs="?", default="", help="05, for example; default: all")
    parser.add_argument("--language", choices=LANGUAGES, help="default: both")
    parser.add_argument("--small", action="store_true", help="experiments of a few updates")
    parser.add_argument("--jobs", type=int, help="chapters at a time; default: as many as there are cores")
    parser.add_argument("--out", type=Path, default=Path("build/course"))
    given = parser.parse_args()
    os.environ["MULTIHEAD_COURSE"] = "small" if given.small else ""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    languages = [given.language] if given.language else LANGUAGES
    wanted = [path for language in languages for path in chapters(language, given.chapter)]
    if not wanted:
        sys.exit(f"no chapter begins with {given.chapter!r}; there are 01 to {chapters('en')[-1].name[:2]}")
    given.out.mkdir(parents=True, exist_ok=True)
    run_all(wanted, given.out, given.jobs or min(usable_cores(), len(wanted)), small=given.small)
    for language in LANGUAGES:
        (given.out / language).mkdir(parents=True, exist_ok=True)
        text = index(chapters(language), language)
        (given.out / language / "index.html").write_text(text, encoding="utf-8", newline="\n")
    print(f"open {given.out / languages[0] / 'index.html'}")


if __name__ == "__main__":
    sys.exit(main())
