"""Links between the pages of a folder, whose headings keep their names in translation."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from multihead.documents import KINDS
from multihead.documents.markdown.links import links_beyond
from multihead.documents.rst.labels import defined, referred

MOST = 8 << 20
"""Bytes that are read of a page."""


def linked_places(documents: Sequence[Path]) -> Mapping[Path, frozenset[str]]:
    """Return the places in pages that other pages link to, by page."""
    kinds = {path: KINDS.get(path.suffix.lower()) for path in documents}
    texts = {path: _text(path) for path, kind in kinds.items() if kind in ("markdown", "rst")}
    found = _linked_by_address({path: text for path, text in texts.items() if kinds[path] == "markdown"})
    return found | _linked_by_label({path: text for path, text in texts.items() if kinds[path] == "rst"})


def _text(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:  # reported when the page is translated
        return file.read(MOST).decode("utf-8", "replace")
    return ""


def _linked_by_address(texts: Mapping[Path, str]) -> dict[Path, frozenset[str]]:
    """Return the places that Markdown links to: ``guide.md#set-up``, ``guide#set-up``, ``guide/#set-up``."""
    pages = {path.resolve(): path for path in texts}
    found: dict[Path, set[str]] = {}
    for whole, path in pages.items():
        for name, place in links_beyond(texts[path]):
            other = next(filter(None, map(pages.get, _candidates(whole.parent, name))), None)
            if other and other != path:
                found.setdefault(other, set()).add(place)
    return {path: frozenset(places) for path, places in found.items()}


def _linked_by_label(texts: Mapping[Path, str]) -> dict[Path, frozenset[str]]:
    """Return the names that no label defines, which are titles of a page (Sphinx' ``autosectionlabel``)."""
    names = {name for text in texts.values() for name in referred(text)}
    names -= {name for text in texts.values() for name in defined(text)}
    return dict.fromkeys(texts, frozenset(names))


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that a link may name."""
    with suppress(OSError, ValueError):
        whole = (folder / name).resolve()
        yield whole
        for ending in (".md", ".mdx"):
            yield whole.with_name(f"{whole.name}{ending}")
            yield whole / f"index{ending}"
        yield whole / "README.md"
