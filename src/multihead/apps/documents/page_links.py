"""Links between the pages of a folder; headings that they name keep their anchors in translation."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from multihead.data.documents.library import BY_ENDING, links_beyond, reference_names, target_names

MOST = 8 << 20
"""Maximum bytes read from a page."""


def linked_places(documents: Sequence[Path]) -> Mapping[Path, frozenset[str]]:
    """Return, for each page, the places in it that other pages link to."""
    pages: dict[str, list[Path]] = {"markdown": [], "rst": []}
    for path in documents:
        if (format := BY_ENDING.get(path.suffix.lower())) and format.name in pages:
            pages[format.name].append(path)
    return _linked_by_address(pages["markdown"]) | _linked_by_label(pages["rst"])


def _linked_by_address(paths: Sequence[Path]) -> dict[Path, frozenset[str]]:
    """Return the places that Markdown links to: ``guide.md#set-up``, ``guide#set-up``, ``guide/#set-up``."""
    pages = {path.resolve(): path for path in paths}
    by_page: dict[Path, set[str]] = {}
    for whole, path in pages.items():
        for name, place in links_beyond(_text(path)):
            other = next(filter(None, map(pages.get, _candidates(whole.parent, name))), None)
            if other and other != path:
                by_page.setdefault(other, set()).add(place)
    return {path: frozenset(places) for path, places in by_page.items()}


def _linked_by_label(paths: Sequence[Path]) -> dict[Path, frozenset[str]]:
    """Return the names that no label defines: titles of a page (Sphinx's ``autosectionlabel``)."""
    names: set[str] = set()
    labels: set[str] = set()
    for text in map(_text, paths):
        names.update(reference_names(text))
        labels.update(target_names(text))
    return dict.fromkeys(paths, frozenset(names - labels))


def _text(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:  # reported when the page is translated
        return file.read(MOST).decode("utf-8", "replace")
    return ""


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files to which a link may resolve."""
    with suppress(OSError, ValueError):
        whole = (folder / name).resolve()
        yield whole
        for ending in (".md", ".mdx"):
            yield whole.with_name(f"{whole.name}{ending}")
            yield whole / f"index{ending}"
        yield whole / "README.md"
