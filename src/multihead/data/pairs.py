"""Pairs of a parallel corpus in any format: text files, TMX, XLIFF, PO, subtitles.

Inline markup of a document becomes reserved symbols (``text.symbols``) where the vocabulary has them, and is
left out otherwise.
"""

from collections.abc import Collection, Iterator, Sequence

from multihead_documents.markup import Markup, Tag
from multihead_documents.parallel import read_pairs as read_document
from multihead_documents.subtitle_pairs import subtitle_pairs

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system.addresses import located
from multihead.text import corpus
from multihead.text.lines import STDIN
from multihead.text.symbols import PAIRS, PLACEHOLDERS, STANDALONE, escape

Pair = tuple[str, str]


def read_pairs(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Pair]:
    """Yield the (source, target) pairs of the files in order, as plain text; see ``text.corpus.read_pairs``.

    Raises:
        UserError: a file is missing, empty, damaged or of another format; its sides differ in length; a TMX
            file lacks one of ``data.source_language`` and ``data.target_language``.
    """
    return _read(data, sources, targets, None)


def read_marked_pairs(
    data: DataSettings, sources: Sequence[str], targets: Sequence[str], symbols: Collection[str]
) -> Iterator[Pair]:
    """Yield the same pairs as marked text, with inline markup as symbols.

    Args:
        data: as for ``read_pairs``.
        sources: likewise.
        targets: likewise.
        symbols: the symbols that may be used, those of both vocabularies.
    """
    return _read(data, sources, targets, symbols)


def has_markup(data: DataSettings, names: Sequence[str]) -> bool:
    """Return whether one of the files may have inline markup."""
    return any(corpus.file_format(data, name) in corpus.BILINGUAL for name in names)


def _read(
    data: DataSettings, sources: Sequence[str], targets: Sequence[str], symbols: Collection[str] | None
) -> Iterator[Pair]:
    corpus.check_sides(data, sources, targets)
    for number, source in enumerate(sources):
        target = targets[number : number + 1]
        if not corpus.is_document(data, source):
            pairs = corpus.read_pairs(data, [source], target)
            yield from pairs if symbols is None else ((escape(a), escape(b)) for a, b in pairs)
            continue
        for one, other, _ in _documents(data, source, target):
            yield _plain(one, other) if symbols is None else _marked(one, other, symbols)


def _documents(
    data: DataSettings, source: str, target: Sequence[str]
) -> Iterator[tuple[Markup, Markup, str]]:
    if STDIN in (source, *target):
        remedy = "Name a file: only text is read from standard input."
        raise UserError("a document on standard input", place="data", remedy=remedy)
    path = located(data.dir, source)
    if target:
        yield from subtitle_pairs(path, located(data.dir, target[0]))
        return
    languages = data.source_language or None, data.target_language or None
    yield from read_document(path, *languages, kind=corpus.file_format(data, source))


def _plain(source: Markup, target: Markup) -> Pair:
    return _one_line(source.text), _one_line(target.text)


def _marked(source: Markup, target: Markup, symbols: Collection[str]) -> Pair:
    """Return a pair with symbols in the places of the tags that both sides have."""
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
    """Return a symbol for each tag of both sides, in the order of the source, while there are symbols."""
    pairs = [pair for pair in PAIRS if pair[0] in symbols and pair[1] in symbols][::-1]
    single = [name for name in (*STANDALONE, *PLACEHOLDERS) if name in symbols][::-1]
    counts = [[_key(tag) for tag in side.tags] for side in (source, target)]
    shared = [key for key in counts[0] if counts[0].count(key) == counts[1].count(key) == 1]
    found: dict[tuple[str, str], str] = {}
    for name, kind in shared:
        whole = {(name, "open"), (name, "close")} <= set(shared)
        if kind == "alone" or not whole:
            if single:
                found[name, kind] = single.pop()
        elif (name, "open") not in found and (name, "close") not in found and pairs:
            found[name, "open"], found[name, "close"] = pairs.pop()
    return found


def _one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ").replace("\0", "\ufffd")
