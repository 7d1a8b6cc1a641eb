"""Write the documentation as one site: build/docs/index.html, which opens without a network or a server.

    python docs/site/build.py [--out build/docs] [--course build/course]

Chapters of the course have their figures and a live page if `make course` has written them; otherwise only
their code.
"""

import argparse
import html
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "docs" / "course")]

import jupytext  # noqa: E402
import nbformat  # noqa: E402
import pages as course  # noqa: E402
import reference  # noqa: E402
from frame import Page, framed, relative, sections, with_anchors  # noqa: E402
from pygments import highlight  # noqa: E402
from pygments.formatters import HtmlFormatter  # noqa: E402
from pygments.lexers import get_lexer_for_filename  # noqa: E402
from pygments.lexers.special import TextLexer  # noqa: E402
from pygments.util import ClassNotFound  # noqa: E402

GROUPS = {
    "Start": ("README.md", "README.ko.md", "docs/start"),
    "How to": ("docs/how-to/index.md", "docs/how-to"),
    "Course": ("docs/course/README.md", "docs/course/en", "docs/course/ko"),
    "Reference": ("docs/reference",),
    "Explanation": ("docs/explanation", "docs/measured"),
    "Changing it": ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
                    "benchmarks/NOTES.md"),
}  # fmt: skip
"""Headings of the navigation; a folder stands for its pages. Pages named nowhere end up in How to."""
TITLES = {
    "README.md": "multihead",
    "docs/course/README.md": "The course",
}
"""Titles of pages in the navigation; by default their first heading."""
SEARCHED = 4000
"""Characters of a section that can be found."""


def sources() -> dict[str, str]:
    """Return the group of each Markdown file, in the order of the navigation."""
    found: dict[str, str] = {}
    for group, names in GROUPS.items():
        for name in names:
            path = ROOT / name
            for file in sorted(path.glob("*.md")) if path.is_dir() else [path]:
                found.setdefault(file.relative_to(ROOT).as_posix(), group)
    for file in sorted((ROOT / "docs").rglob("*.md")):
        found.setdefault(file.relative_to(ROOT).as_posix(), "How to")
    return found


def written(source: str) -> str:
    """Return the page of a Markdown file, relative to the site."""
    return "index.html" if source == "README.md" else f"{source.removesuffix('.md')}.html"


class Site:
    """Collects the pages and the files that they link to."""

    def __init__(self, notebooks: Path) -> None:
        self.notebooks = notebooks
        self.live_page = notebooks / "live.html"
        self.sources = sources()
        self.files: dict[str, Path] = {}
        self.pages = [self._page(source, group) for source, group in self.sources.items()]
        self.pages += [Page(p.path, p.title, with_anchors(p.body), p.group) for p in reference.pages()]
        self.pages += list(self._linked_code())
        self.groups = {name: [page for page in self.pages if page.group == name] for name in GROUPS}

    def write(self, out: Path) -> None:
        """Write all pages, and what they need, into a folder of which nothing else is kept."""
        shutil.rmtree(out, ignore_errors=True)
        for page in self.pages:
            _write(out / page.path, framed(page, self.groups))
        for name, file in self.files.items():
            if file.suffix in IMAGES:
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, out / name)
        if self.live_page.exists():
            shutil.copyfile(self.live_page, out / LIVE)
        _write(
            out / "site.css", f"{course.colours()}\n{course.STYLE}\n{(HERE / 'site.css').read_text('utf-8')}"
        )
        _write(out / "search.js", (HERE / "search.js").read_text("utf-8"))
        index = [
            [page.title, heading, f"{page.path}#{anchor}", text[:SEARCHED], page.language]
            for page in self.pages
            if not page.path.startswith("source/")
            for anchor, heading, text in sections(page)
        ]
        _write(out / "search-data.js", f"window.PAGES = {json.dumps(index, ensure_ascii=False)};\n")

    def _page(self, source: str, group: str) -> Page:
        path = ROOT / source
        if re.fullmatch(r"docs/course/(en|ko)/\d\d-.*\.md", source):
            live = "../live.html" if self.live_page.exists() else None
            body = course.with_live_page(course.body(self._notebook(path)), path.parent.name, live)
        else:
            body = course.render(path.read_text(encoding="utf-8"))
        return Page(
            written(source),
            TITLES.get(source) or course.title(path),
            self._linked(with_anchors(body), source),
            group,
        )

    def _notebook(self, path: Path) -> nbformat.NotebookNode:
        """Return a chapter, with its outputs if its code ran since it was last changed."""
        plain = jupytext.read(path)
        plain.cells = [cell for cell in plain.cells if cell.source.strip()]
        file = self.notebooks / path.parent.name / f"{path.stem}.ipynb"
        code = [cell for cell in plain.cells if cell.cell_type == "code"]
        if file.exists():
            ran = [cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
            if [cell.source for cell in ran] == [cell.source for cell in code]:
                for cell, before in zip(code, ran, strict=True):
                    cell.outputs = before.outputs
        for cell in plain.cells:
            cell.setdefault("outputs", [])
        return plain

    def _linked(self, body: str, source: str) -> str:
        """Turn links between files of the repository into links between pages."""

        def link(found: re.Match[str]) -> str:
            attribute, target = found[1], html.unescape(found[2])
            name, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target) or not name or name == "../live.html":
                return found[0]
            file = ((ROOT / source).parent / name).resolve()
            if not file.exists() and name.endswith(".html"):  # a chapter of the course
                file = file.with_suffix(".md")
            page = self._target(file)
            if page is None:
                return "" if attribute == "href" else found[0]
            return f'{attribute}="{relative(written(source), page)}{f"#{anchor}" if anchor else ""}"'

        return re.sub(r'(href|src)="([^"]+)"', link, body)

    def _target(self, file: Path) -> str | None:
        """Return the page of a file of the repository; None for a folder."""
        name = file.relative_to(ROOT).as_posix()
        if file.is_dir():
            return None
        if name in self.sources:
            return written(name)
        target = name if file.suffix in IMAGES else f"source/{name}.html"
        self.files[target] = file
        return target

    def _linked_code(self) -> Iterator[Page]:
        for target, file in sorted(self.files.items()):
            if file.suffix not in IMAGES:
                name = file.relative_to(ROOT).as_posix()
                try:
                    lexer = get_lexer_for_filename(name)
                except ClassNotFound:
                    lexer = TextLexer()
                code = highlight(file.read_text(encoding="utf-8"), lexer, HtmlFormatter(nobackground=True))
                yield Page(target, name, f"<h1><code>{html.escape(name)}</code></h1>{code}")


LIVE = "docs/course/live.html"
"""The live page of a small translator, which the chapters of both languages show."""
IMAGES = {".png", ".svg", ".jpg", ".gif"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    """Write the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs")
    parser.add_argument(
        "--course", type=Path, default=ROOT / "build" / "course", help="notebooks of `make course`"
    )
    given = parser.parse_args()
    site = Site(given.course)
    site.write(given.out)
    print(f"{len(site.pages)} pages; open {given.out / 'index.html'}")


if __name__ == "__main__":
    main()
