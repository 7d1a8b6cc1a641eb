"""Pairs of a parallel corpus in any format: text files, TMX, XLIFF, PO, subtitles.

Inline markup of a document becomes reserved symbols (``text.symbols``) if the vocabulary has them, and is
left out otherwise.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from multihead.data.documents import about_documents
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system.addresses import is_copied, locate_file
from multihead.text import corpus
from multihead.text.lines import STDIN
from multihead.text.symbols import escape

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
    """Yield the pairs of ``read_pairs`` as marked text, with inline markup as these symbols."""
    return _read(data, sources, targets, symbols)


def has_markup(data: DataSettings, names: Sequence[str]) -> bool:
    """Return whether one of the files may have inline markup."""
    return any(corpus.file_format(data, name) in corpus.BILINGUAL for name in names)


def _read(
    data: DataSettings, sources: Sequence[str], targets: Sequence[str], symbols: Collection[str] | None
) -> Iterator[Pair]:
    sources, targets = corpus.corpus_files(data, sources, targets).train
    with errors_with_names(data.dir, (*sources, *targets)):
        yield from _read_files(data, sources, targets, symbols)


@contextmanager
def errors_with_names(folder: str, names: Collection[str]) -> Iterator[None]:
    """Raise errors about copies of files (of an archive, at an address) with the names of the files."""
    try:
        yield
    except UserError as error:
        place, fact = error.place, error.fact
        for name in (name for name in names if name != STDIN and is_copied(folder, name)):
            copy = str(locate_file(folder, name))
            place, fact = place and place.replace(copy, name), fact.replace(copy, name)
        raise UserError(fact, place=place, remedy=error.remedy) from error


def _read_files(
    data: DataSettings, sources: Sequence[str], targets: Sequence[str], symbols: Collection[str] | None
) -> Iterator[Pair]:
    corpus.check_sides(data, sources, targets)
    if corpus.is_tatoeba(data, (*sources, *targets)):
        parts = [(sources, targets)]
    else:
        parts = [([source], targets[number : number + 1]) for number, source in enumerate(sources)]
    for source, target in parts:
        if corpus.is_document(data, source[0]):
            yield from _document_pairs(data, source[0], target, symbols)
            continue
        pairs = corpus.read_pairs(data, source, target)
        yield from pairs if symbols is None else ((escape(a), escape(b)) for a, b in pairs)


def _document_pairs(
    data: DataSettings, source: str, target: Sequence[str], symbols: Collection[str] | None
) -> Iterator[Pair]:
    if STDIN in (source, *target):
        remedy = "Name a file: only text is read from standard input."
        raise UserError("a document on standard input", place="data", remedy=remedy)
    path, translation = locate_file(data.dir, source), [locate_file(data.dir, name) for name in target]
    pairs: Iterator[Pair] = about_documents("multihead.data.document_pairs", path).document_pairs(
        path,
        *translation,
        languages=(data.source_language or None, data.target_language or None),
        kind=corpus.file_format(data, source),
        symbols=symbols,
    )
    yield from pairs
