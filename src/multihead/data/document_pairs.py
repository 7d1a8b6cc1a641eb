"""Pairs of bilingual documents and of subtitles as training pairs."""

from collections.abc import Collection, Iterator
from pathlib import Path

from multihead.data.documents.bilingual import read_pairs, subtitle_pairs
from multihead.data.documents.library import Markup, Tag
from multihead.text.symbols import PAIRS, PLACEHOLDERS, STANDALONE, escape

Pair = tuple[str, str]


def document_pairs(
    source: Path,
    target: Path | None = None,
    *,
    languages: tuple[str | None, str | None],
    kind: str,
    symbols: Collection[str] | None,
) -> Iterator[Pair]:
    """Yield the pairs of a document as text.

    Args:
        source: a bilingual document, or subtitles.
        target: subtitles in the other language; None for a bilingual document.
        languages: the languages to read from a bilingual document.
        kind: the document's format.
        symbols: symbols for inline markup; None: leave it out.

    Raises:
        UserError: a file is missing, malformed, of another format, or has no pair of these languages.
    """
    pairs = subtitle_pairs(source, target) if target else read_pairs(source, *languages, kind=kind)
    for left, right, _ in pairs:
        if symbols is None:
            yield _one_line(left.text), _one_line(right.text)
        else:
            yield _mark(left, right, symbols)


def _mark(source: Markup, target: Markup, symbols: Collection[str]) -> Pair:
    """Return a pair with symbols in place of the tags that both sides share."""
    names = _names(source, target, symbols)
    first, second = (
        "".join(
            escape(_one_line(piece))
            if isinstance(piece, str)
            else names.get(_key(piece)) or escape(_one_line(piece.text))
            for piece in side.pieces
        )
        for side in (source, target)
    )
    return first, second


def _key(tag: Tag) -> tuple[str, str]:
    return tag.id, tag.kind


def _names(source: Markup, target: Markup, symbols: Collection[str]) -> dict[tuple[str, str], str]:
    """Return a symbol for each tag of both sides, in the order of the source, until symbols run out."""
    pairs = [pair for pair in PAIRS if pair[0] in symbols and pair[1] in symbols][::-1]
    single = [name for name in (*STANDALONE, *PLACEHOLDERS) if name in symbols][::-1]
    counts = [[_key(tag) for tag in side.tags] for side in (source, target)]
    shared = [key for key in counts[0] if counts[0].count(key) == counts[1].count(key) == 1]
    names: dict[tuple[str, str], str] = {}
    for name, kind in shared:
        whole = {(name, "open"), (name, "close")} <= set(shared)
        if kind == "alone" or not whole:
            if single:
                names[name, kind] = single.pop()
        elif (name, "open") not in names and (name, "close") not in names and pairs:
            names[name, "open"], names[name, "close"] = pairs.pop()
    return names


def _one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ").replace("\0", "\ufffd")
