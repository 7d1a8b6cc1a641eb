"""Links between the pages of a folder, whose headings keep their names in translation."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from multihead.documents import KINDS
from multihead.documents.markdown.links import links_beyond

MOST = 8 << 20
"""Bytes that are read of a page."""


def linked_places(documents: Sequence[Path]) -> Mapping[Path, frozenset[str]]:
    """Return the places in pages of Markdown that other pages link to, by page.

    Sites are linked in several ways: ``guide.md#set-up``, ``guide#set-up``, ``guide/#set-up``.
    """
    pages = {path.resolve(): path for path in documents if KINDS.get(path.suffix.lower()) == "markdown"}
    found: dict[Path, set[str]] = {}
    for whole, path in pages.items():
        with suppress(OSError):  # reported when the page is translated
            with whole.open("rb") as file:
                text = file.read(MOST).decode("utf-8", "replace")
            for name, place in links_beyond(text):
                other = next(filter(None, map(pages.get, _candidates(whole.parent, name))), None)
                if other and other != path:
                    found.setdefault(other, set()).add(place)
    return {path: frozenset(places) for path, places in found.items()}


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that a link may name."""
    with suppress(OSError, ValueError):
        whole = (folder / name).resolve()
        yield whole
        for ending in (".md", ".mdx"):
            yield whole.with_name(f"{whole.name}{ending}")
            yield whole / f"index{ending}"
        yield whole / "README.md"
