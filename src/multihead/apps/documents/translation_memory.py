"""Translation memory: exact and similar matches of segments, from a TMX, XLIFF or PO file."""

import importlib
from pathlib import Path
from typing import NamedTuple

from multihead.data.documents.library import Markup, Tag, faults

Shape = tuple[str, ...]
"""Text and tags of a segment; a tag is its kind and its id's ordinal number."""


SIMILAR = 0.75
"""Similarity from which on a pair is shown beside a segment: the usual bound of translation memories."""


class MemoryMatch(NamedTuple):
    """A translation from a memory.

    Attributes:
        target: the translation, with the segment's tags.
        place: ``file:line``.
    """

    target: Markup
    place: str


class SimilarPair(NamedTuple):
    """A pair of a memory whose source resembles a segment.

    Attributes:
        source: its source, without tags.
        target: its translation, without tags.
        similarity: share of the characters of both sources that are in their longest common subsequence.
        place: ``file:line``.
    """

    source: str
    target: str
    similarity: float
    place: str


class TranslationMemory:
    """Pairs of a bilingual file by their whole source segment: tags, and text with white space collapsed.

    The last pair of a source counts.

    Args:
        path: a TMX, XLIFF or PO file.
        source: code of the source language.
        target: code of the target language.

    Raises:
        UserError: see ``documents.bilingual.read_pairs``.
    """

    def __init__(self, path: Path | str, source: str | None, target: str | None) -> None:
        # Imported here because the readers take a tenth of a second, which most translations do not need.
        read_pairs = importlib.import_module("multihead.data.documents.bilingual").read_pairs
        self._pairs = {_shape(pair.source): pair for pair in read_pairs(path, source or None, target or None)}
        self._texts = {shape: pair.source.text for shape, pair in self._pairs.items()}

    def __len__(self) -> int:
        return len(self._pairs)

    def find(self, source: Markup) -> MemoryMatch | None:
        """Return the translation of exactly this segment, or None."""
        pair = self._pairs.get(_shape(source))
        if pair is None:
            return None
        ids = dict(zip(_ids(pair.source), _ids(source), strict=True))
        target = Markup.of(
            *(
                piece.rename(ids.get(piece.id, "?"), piece.kind) if isinstance(piece, Tag) else piece
                for piece in pair.target.pieces
            )
        )
        return None if faults(source, target) else MemoryMatch(target, pair.place)

    def find_similar(self, source: Markup) -> SimilarPair | None:
        """Return the pair whose source resembles this segment most, from ``SIMILAR`` on; None without one."""
        rapidfuzz = importlib.import_module("rapidfuzz")  # likewise
        best = rapidfuzz.process.extractOne(
            source.text,
            self._texts,
            scorer=rapidfuzz.distance.Indel.normalized_similarity,
            score_cutoff=SIMILAR,
        )
        if best is None:
            return None
        _, similarity, shape = best
        pair = self._pairs[shape]
        return SimilarPair(pair.source.text, pair.target.text, similarity, pair.place)


def _ids(markup: Markup) -> list[str]:
    return list(dict.fromkeys(tag.id for tag in markup.tags))


def _shape(markup: Markup) -> Shape:
    numbers = {name: str(number) for number, name in enumerate(_ids(markup))}
    return tuple(
        f"\0{piece.kind}{numbers[piece.id]}" if isinstance(piece, Tag) else piece
        for piece in markup.collapsed().strip().pieces
    )
