"""Links between the pages of a folder, whose headings keep their names in translation."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from multihead_documents import KINDS
from multihead_documents.markdown.links import links_beyond
from multihead_documents.rst.labels import defined, referred

MOST = 8 << 20
"""Bytes that are read of a page."""


def linked_places(documents: Sequence[Path]) -> Mapping[Path, frozenset[str]]:
    """Return the places in pages that other pages link to, by page."""
    kinds = {path: KINDS.get(path.suffix.lower()) for path in documents}
    markdown = [path for path, kind in kinds.items() if kind == "markdown"]
    return _linked_by_address(markdown) | _linked_by_label([p for p, kind in kinds.items() if kind == "rst"])


def _linked_by_address(paths: Sequence[Path]) -> dict[Path, frozenset[str]]:
    """Return the places that Markdown links to: ``guide.md#set-up``, ``guide#set-up``, ``guide/#set-up``."""
    pages = {path.resolve(): path for path in paths}
    found: dict[Path, set[str]] = {}
    for whole, path in pages.items():
        for name, place in links_beyond(_text(path)):
            other = next(filter(None, map(pages.get, _candidates(whole.parent, name))), None)
            if other and other != path:
                found.setdefault(other, set()).add(place)
    return {path: frozenset(places) for path, places in found.items()}


def _linked_by_label(paths: Sequence[Path]) -> dict[Path, frozenset[str]]:
    """Return the names that no label defines, which are titles of a page (Sphinx' ``autosectionlabel``)."""
    names: set[str] = set()
    labels: set[str] = set()
    for text in map(_text, paths):
        names.update(referred(text))
        labels.update(defined(text))
    return dict.fromkeys(paths, frozenset(names - labels))


def _text(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:  # reported when the page is translated
        return file.read(MOST).decode("utf-8", "replace")
    return ""


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that a link may name."""
    with suppress(OSError, ValueError):
        whole = (folder / name).resolve()
        yield whole
        for ending in (".md", ".mdx"):
            yield whole.with_name(f"{whole.name}{ending}")
            yield whole / f"index{ending}"
        yield whole / "README.md"
