"""Pairs of a document and its translation, paragraph by paragraph or sentence by sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from multihead.data.documents.bilingual import subtitle_pairs
from multihead.data.documents.library import Document, Markup, Segment, faults, format_of, open_document
from multihead.errors import UserError
from multihead.text.length_alignment import PARAGRAPHS, align_lengths, paths
from multihead.text.segmentation import split

MOST_PATHS = 20_000_000
"""Maximum number of cells of the alignment's dynamic programme, which takes minutes."""
SAME_TAGS = 0.9
"""Fraction of paragraphs with equal tags above which documents of equal length count as parallel."""


class PassagePair(NamedTuple):
    """A passage and its translation; corresponding tags have the same id."""

    source: Markup
    target: Markup
    place: str


@dataclass
class DocumentAlignment:
    """Pairs of a document and its translation.

    Attributes:
        pairs: the pairs, in order.
        alone: (place, text) of passages without a counterpart.
        same: number of passages equal on both sides, which are left out.
        languages: languages that the documents name, or None.
    """

    pairs: list[PassagePair] = field(default_factory=list)
    alone: list[tuple[str, str]] = field(default_factory=list)
    same: int = 0
    languages: tuple[str | None, str | None] = (None, None)


def align_documents(
    source: Path,
    target: Path,
    *,
    languages: tuple[str | None, str | None] = (None, None),
    sentences: bool = False,
    encoding: str | None = None,
) -> DocumentAlignment:
    """Align a document and its translation, of any formats.

    Subtitles are aligned by time, messages by key, paragraphs by their lengths and by names and numbers, or
    by order if both documents have equally many with the same tags and none seems to be missing.

    Args:
        source: the document.
        target: its translation.
        languages: both languages; None if unknown.
        sentences: split paragraphs into sentences.
        encoding: encoding of texts that do not declare one.

    Raises:
        UserError: a document cannot be read, is a table, or is bilingual.
    """
    for path in (source, target):
        _refuse(path)
    if format_of(source).timed and format_of(target).timed:
        alignment = DocumentAlignment([PassagePair(*pair) for pair in subtitle_pairs(source, target)])
        return _finish(alignment, languages, sentences=sentences)
    documents = [open_document(path, encoding=encoding) for path in (source, target)]
    named = [document.source_language for document in documents]
    alignment = DocumentAlignment(languages=(named[0], named[1]))
    for lefts, rights in _beads(*documents):
        if lefts and rights:
            sides = [_join(side) for side in (lefts, rights)]
            if len(lefts) == len(rights) == 1 and not faults(lefts[0].source, rights[0].source):
                sides = [lefts[0].source, rights[0].source]
            alignment.pairs.append(PassagePair(sides[0], sides[1], lefts[0].place))
        else:
            alignment.alone += [(segment.place, segment.source.text) for segment in (*lefts, *rights)]
    return _finish(alignment, languages, sentences=sentences)


def _refuse(path: Path) -> None:
    if format_of(path).is_table:
        remedy = "Name the columns to the command that reads it: --source-field, --target-field."
        raise UserError("a table, which has both sides in its columns", place=str(path), remedy=remedy)
    if format_of(path).bilingual:
        remedy = "Give it to train, clean or --tm as it is."
        raise UserError("it has both languages itself", place=str(path), remedy=remedy)


def _beads(source: Document, target: Document) -> Iterator[tuple[Sequence[Segment], Sequence[Segment]]]:
    lefts, rights = source.segments, target.segments
    keys = [{segment.key: segment for segment in side if segment.key} for side in (lefts, rights)]
    if keys[0] and len(keys[0]) == len(lefts) and len(keys[1]) == len(rights) and source.kind == target.kind:
        for key in dict.fromkeys([*keys[0], *keys[1]]):
            yield [side[key] for side in keys[:1] if key in side], [keys[1][key]] if key in keys[1] else []
        return
    if paths(len(lefts), len(rights)) > MOST_PATHS:
        fact = f"{len(lefts):,} and {len(rights):,} passages, too many to be aligned"
        raise UserError(fact, place=str(source.path), remedy="Split both, by chapters.")
    texts = [[segment.source.text for segment in side] for side in (lefts, rights)]
    tags = [[len(segment.source.tags) for segment in side] for side in (lefts, rights)]
    beads = align_lengths(texts[0], texts[1], PARAGRAPHS, (tags[0], tags[1]))
    # A document and its translation: neighbours of unusual lengths are not joined or split passages.
    if len(lefts) == len(rights) and all(left and right for left, right in beads):
        alike = sum(not faults(a.source, b.source) for a, b in zip(lefts, rights, strict=True))
        if alike >= SAME_TAGS * len(lefts):
            beads = [(range(n, n + 1), range(n, n + 1)) for n in range(len(lefts))]
    for left, right in beads:
        yield [lefts[i] for i in left], [rights[j] for j in right]


def _join(segments: Sequence[Segment]) -> Markup:
    return Markup.of(" ".join(segment.source.text for segment in segments))


def _finish(
    alignment: DocumentAlignment, languages: tuple[str | None, str | None], *, sentences: bool
) -> DocumentAlignment:
    """Split into sentences on request, and leave out pairs with equal sides."""
    codes = [code or named or "" for code, named in zip(languages, alignment.languages, strict=True)]
    pairs = alignment.pairs
    if sentences:
        pairs = [part for pair in pairs for part in _sentences(pair, codes, alignment)]
    alignment.pairs = [pair for pair in pairs if pair.source.text.split() != pair.target.text.split()]
    alignment.same = len(pairs) - len(alignment.pairs)
    return alignment


def _sentences(pair: PassagePair, codes: Sequence[str], result: DocumentAlignment) -> Iterator[PassagePair]:
    sides = [
        split(text, code).sentences
        for text, code in zip((pair.source.text, pair.target.text), codes, strict=True)
    ]
    if len(sides[0]) == len(sides[1]) == 1:
        yield pair
        return
    for left, right in align_lengths(sides[0], sides[1]):
        texts = " ".join(sides[0][i] for i in left), " ".join(sides[1][j] for j in right)
        if all(texts):
            yield PassagePair(Markup.of(texts[0]), Markup.of(texts[1]), pair.place)
        else:
            result.alone.append((pair.place, "".join(texts)))
