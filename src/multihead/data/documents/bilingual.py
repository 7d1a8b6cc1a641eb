"""Pairs of bilingual documents and of subtitles, with the library's errors as ``UserError``."""

from collections.abc import Iterator
from pathlib import Path

from multihead.data.documents.library import user_errors
from multihead_documents import parallel
from multihead_documents import subtitle_pairs as subtitles
from multihead_documents.parallel import Pair

__all__ = ["Pair", "read_pairs", "subtitle_pairs"]


def read_pairs(
    path: Path | str, source: str | None = None, target: str | None = None, *, kind: str | None = None
) -> Iterator[Pair]:
    """Yield the pairs of a bilingual file; see ``multihead_documents.parallel.read_pairs``."""
    with user_errors():
        yield from parallel.read_pairs(path, source, target, kind=kind)


def subtitle_pairs(source: Path | str, target: Path | str) -> Iterator[Pair]:
    """Yield the pairs of two subtitle files; see ``multihead_documents.subtitle_pairs``."""
    with user_errors():
        yield from subtitles.subtitle_pairs(source, target)
