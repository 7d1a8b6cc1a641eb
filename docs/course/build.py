"""Run the chapters of the course and write them as notebooks and as web pages.

    python docs/course/build.py                 all chapters, both languages: build/course
    python docs/course/build.py 05 --small      one chapter, its experiment only to see that it runs

A chapter is a Markdown file in jupytext's format: a page to read, and a notebook that Jupyter opens. Every
chapter runs in a process of its own. Writes NN-name.ipynb and NN-name.html; nothing is fetched.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from pages import index, page

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
    NotebookClient(
        notebook, timeout=3600, kernel_name="python3", resources={"metadata": {"path": HERE}}
    ).execute()
    spent = time.monotonic() - began
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{path.stem}.ipynb")
    (folder / f"{path.stem}.html").write_text(page(notebook, path), encoding="utf-8", newline="\n")
    return spent


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("chapter", nargs="?", default="", help="05, for example; default: all")
    parser.add_argument("--language", choices=LANGUAGES, help="default: both")
    parser.add_argument("--small", action="store_true", help="experiments of a few updates")
    parser.add_argument("--out", type=Path, default=Path("build/course"))
    given = parser.parse_args()
    os.environ["MULTIHEAD_COURSE"] = "small" if given.small else ""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    languages = [given.language] if given.language else LANGUAGES
    for language in languages:
        for path in chapters(language, given.chapter):
            spent = run(path, given.out / language)
            print(f"{language} {path.stem}: {spent:.0f} s", flush=True)
    for language in LANGUAGES:
        found = chapters(language)
        (given.out / language).mkdir(parents=True, exist_ok=True)
        text = index(found, language)
        (given.out / language / "index.html").write_text(text, encoding="utf-8", newline="\n")
    print(f"open {given.out / languages[0] / 'index.html'}")


if __name__ == "__main__":
    sys.exit(main())
