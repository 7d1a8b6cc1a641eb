"""Readers of parallel corpora: two line-aligned files (Moses format), TSV, CSV, JSONL, WMT, Parquet, Arrow.

``data.pairs`` reads these and the bilingual documents of ``documents``. Folders and archives are read as the
files in them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Literal, get_args

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, DocumentFormat, TextFormat
from multihead.system.addresses import is_copied, locate_file
from multihead.text import tatoeba
from multihead.text.alignment import first_suspicious_line
from multihead.text.arrow import read_columns
from multihead.text.corpus_files import CorpusFiles, choose_files, list_files
from multihead.text.lines import STDIN, empty, file_kind, read_lines
from multihead.text.rows import Pair, is_inferred, read_rows, remarks_on_columns
from multihead.text.wmt import read_segments, read_test_set

__all__ = ["read_lines", "read_pairs"]

Format = Literal[TextFormat, DocumentFormat]
DOCUMENTS: tuple[DocumentFormat, ...] = get_args(DocumentFormat)
BILINGUAL = tuple(name for name in DOCUMENTS if name != "subtitles")
"""Documents that hold both sides; subtitles come in two files."""


def read_pairs(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Pair]:
    """Yield the (source, target) pairs of the files in order.

    Args:
        data: folder, format, columns and encoding of the files.
        sources: source files, or TSV, CSV or JSONL files with both sides; "-" is standard input.
        targets: target files, line-aligned with the source files; empty for files with both sides.

    Raises:
        UserError: a file is missing, empty or unreadable, two aligned files differ in length, or a row lacks
            a field.
    """
    sources, targets = corpus_files(data, sources, targets).train
    check_sides(data, sources, targets)
    if is_tatoeba(data, (*sources, *targets)):
        paths = [_path(data, name) for name in (*sources, *targets)]
        yield from tatoeba.read_linked(paths, data.source_language, data.target_language, data.encoding)
        return
    if not targets:
        for source in sources:
            kind = _format_alone(data, source)
            yield from _BOTH_SIDES[kind](data, _path(data, source), kind)
        return
    for source, target in zip(sources, targets, strict=True):
        yield from _aligned_texts(data, source, target)


_BOTH_SIDES: dict[Format, Callable[[DataSettings, str, str], Iterator[Pair]]] = {
    **dict.fromkeys(("tsv", "csv", "jsonl"), read_rows),
    **dict.fromkeys(("parquet", "arrow"), read_columns),
    "wmt": read_test_set,
}
"""Readers of files that hold both sides, by format; ``data.pairs`` reads the documents among them."""


def corpus_files(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> CorpusFiles:
    """Return the files to read: in place of each folder and archive, the files in it.

    Raises:
        UserError: see ``corpus_files.choose_files``; a folder of two files beside files that hold both sides.
    """
    if targets:
        sides = ([_only_file(data, name) for name in names] for names in (sources, targets))
        return CorpusFiles((next(sides), next(sides)))
    parts = [_files_in(data, name) for name in sources]
    if len({bool(part.train[1]) for part in parts}) > 1:
        remedy = "Name them apart, as several corpora (--corpora)."
        raise UserError("files of one side beside files of both", place=", ".join(sources), remedy=remedy)
    train, valid = (
        tuple([name for part in parts for name in part[split][side]] for side in (0, 1)) for split in (0, 1)
    )
    return CorpusFiles((train[0], train[1]), (valid[0], valid[1]))


def _only_file(data: DataSettings, name: str) -> str:
    """Return the one file of a folder or an archive, any other name as it is."""
    (files, others), _ = _files_in(data, name)
    if others or len(files) > 1:
        fact = f"holds {', '.join((*files, *others)[:4])}"
        raise UserError(fact, place=name, remedy="Name it without a target, or name one file in it.")
    return files[0]


def _files_in(data: DataSettings, name: str) -> CorpusFiles:
    """Return the files of a folder or an archive, any other name as it is."""
    names = None if name == STDIN else list_files(data.dir, name)
    if names is None:
        return CorpusFiles(([name], []))
    languages = data.source_language, data.target_language
    files = choose_files(names, languages, name, lambda file: _holds_both(data, file))
    train, valid = (
        tuple([f"{name.rstrip('/')}/{file}" for file in side] for side in sides) for sides in files
    )
    return CorpusFiles((train[0], train[1]), (valid[0], valid[1]))


def _holds_both(data: DataSettings, name: str) -> bool:
    kind = file_format(data, name)
    return kind in BILINGUAL or (kind in _BOTH_SIDES and not _is_one_side(kind, name))


def _is_one_side(kind: Format, name: str) -> bool:
    """Return whether a file holds the segments of one side."""
    return kind == "wmt" and file_kind(name) != ".xml"


def _format_alone(data: DataSettings, name: str) -> Format:
    """Return the format of a file without another side: that of a text file with tabs is "tsv"."""
    kind = file_format(data, name)
    if kind != "lines" or data.format != "auto" or file_kind(name) != ".txt":
        return kind
    return "tsv" if "\t" in next(read_lines(_path(data, name), data.encoding), "") else kind


def is_tatoeba(data: DataSettings, names: Sequence[str]) -> bool:
    """Return whether files are Tatoeba's sentences and links."""
    tables = all(file_format(data, name) in ("tsv", "csv") and name != STDIN for name in names)
    if not tables or len(names) < 2:
        return False
    return tatoeba.are_tatoeba([_path(data, name) for name in names], data.encoding)


def depends_on_languages(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> bool:
    """Return whether the languages, or a file's header, decide how files are read."""
    if is_tatoeba(data, (*sources, *targets)):
        return True
    kinds = {name: file_format(data, name) if targets else _format_alone(data, name) for name in sources}
    return any(
        is_inferred(data, _path(data, name), kind) if kind in ("tsv", "csv", "jsonl") else kind != "lines"
        for name, kind in kinds.items()
        if name != STDIN
    )


_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-]+")
"""ORGANISATION/NAME, without an extension."""

UNSUPPORTED = {
    ".xlsx": "Save the table as CSV (UTF-8).",
    ".ods": "Save the table as CSV (UTF-8).",
    ".json": "Write one object a line (.jsonl).",
    ".7z": "Unpack it, and name its files.",
    ".rar": "Unpack it, and name its files.",
}
"""Remedies for file types that are not read, by extension."""


COMPARED = 1 << 20
"""Lines from the beginning that are searched for the place where two files part."""


def check_sides(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse file names that do not give both sides of the pairs; see :func:`read_pairs`.

    Raises:
        UserError: one side is missing, a file with both sides has a target file as well, or standard input is
            named twice.
    """
    if (*sources, *targets).count(STDIN) > 1:
        raise UserError("standard input named twice", place="data", remedy="It can be read only once.")
    sources, targets = corpus_files(data, sources, targets).train
    if is_tatoeba(data, (*sources, *targets)):
        return
    if not targets:
        for name in sources:
            if data.format == "auto" and name != STDIN and not locate_file(data.dir, name).exists():
                raise _missing(data, name)
            kind = _format_alone(data, name)
            if kind in ("lines", "subtitles") or _is_one_side(kind, name):
                remedy = "Name the target file too, or set data.format (tsv, csv, jsonl) if it holds both."
                if kind == "subtitles":
                    remedy = "Name the other language's subtitles as the target."
                remedy = UNSUPPORTED.get(file_kind(name), remedy)
                raise UserError("one side only", place=_path(data, name), remedy=remedy)
        return
    if len(sources) != len(targets):
        fact = f"{len(sources)} source files but {len(targets)} target files"
        raise UserError(fact, place="data", remedy="Name them in pairs, in the same order.")
    for source, target in zip(sources, targets, strict=True):
        formats = {_format_beside(data, source), _format_beside(data, target)}
        if formats == {"lines", "subtitles"}:
            fact = "subtitles beside a file of lines, which has no times"
            remedy = "Name two subtitle files, or set data.format to lines."
            raise UserError(fact, place=f"{source}, {target}", remedy=remedy)
        if not formats <= {"lines", "subtitles"}:
            remedy = "Name it as the source only, or set data.format to lines."
            kind = next(kind for kind in sorted(formats) if kind not in ("lines", "subtitles"))
            fact = f"a {kind.upper()} file already holds both sides"
            raise UserError(fact, place=f"{source}, {target}", remedy=remedy)


def _missing(data: DataSettings, name: str) -> UserError:
    remedy = "Check its name and folder."
    if _HUB_ID.fullmatch(name):
        remedy = f"A dataset of the Hugging Face Hub is named hf://datasets/{name}."
    return UserError("no such file", place=_path(data, name), remedy=remedy)


def _format_beside(data: DataSettings, name: str) -> Format:
    """Return the format of a file of one side; "lines" for one that is read as such."""
    kind = file_format(data, name)
    return "lines" if _is_one_side(kind, name) else kind


def has_fields(data: DataSettings, name: str) -> bool:
    """Return whether a file is read as TSV, CSV or JSONL, whose columns or keys have names."""
    return file_format(data, name) in ("tsv", "csv", "jsonl")


def remarks(data: DataSettings, names: Sequence[str]) -> Iterator[str]:
    """Yield remarks about how the columns of these files of both sides are read, one line each.

    Raises:
        UserError: see :func:`read_pairs`.
    """
    for name in [] if is_tatoeba(data, names) else names:
        kind = _format_alone(data, name)
        if kind in ("tsv", "csv") and locate_file(data.dir, name).is_file():
            path = _path(data, name)
            shown = name if is_copied(data.dir, name) else path
            yield from (remark.replace(path, shown) for remark in remarks_on_columns(data, path, kind))


def is_document(data: DataSettings, name: str) -> bool:
    """Return whether a file is read by ``documents``."""
    return file_format(data, name) in DOCUMENTS


def _path(data: DataSettings, name: str) -> str:
    return name if name == STDIN else str(locate_file(data.dir, name))


_KINDS: dict[str, Format] = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".sgm": "wmt",
    ".sgml": "wmt",
    ".xml": "wmt",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".tmx": "tmx",
    ".xliff": "xliff",
    ".xlf": "xliff",
    ".po": "po",
    ".xcstrings": "xcstrings",
    ".srt": "subtitles",
    ".vtt": "subtitles",
}
"""Format of each file extension; any other is lines, even .ts, which may be text in Tsonga rather than Qt."""


def file_format(data: DataSettings, name: str) -> Format:
    """Return the format of a file: ``data.format``, or by its extension."""
    return _KINDS.get(file_kind(name), "lines") if data.format == "auto" else data.format


def _aligned_texts(data: DataSettings, source: str, target: str) -> Iterator[Pair]:
    sides = _path(data, source), _path(data, target)
    encoding = data.encoding
    counts = [0, 0]
    texts = (
        read_segments(path, encoding)
        if file_format(data, name) == "wmt"
        else _without_markup(read_lines(path, encoding), path, refuse=data.format == "auto")
        for name, path in zip((source, target), sides, strict=True)
    )
    for left, right in zip_longest(*texts):
        counts[0] += left is not None
        counts[1] += right is not None
        if left is not None and right is not None:
            yield left, right
    for place, count in zip(sides, counts, strict=True):
        if not count:
            raise empty(place)
    if counts[0] != counts[1]:
        if "wmt" in (file_format(data, source), file_format(data, target)):
            fact = f"{counts[0]} segments, but {sides[1]} has {counts[1]}"
            raise UserError(fact, place=sides[0], remedy="Do the files belong together?")
        fact = f"{counts[0]} lines, but {sides[1]} has {counts[1]}"
        raise UserError(fact, place=sides[0], remedy=_where_they_part(sides, encoding, counts))


_TAG = re.compile(r"<[A-Za-z!?/][^<>]{0,2000}>")
CHECKED = 1000
"""First lines that are checked for markup."""


def _without_markup(lines: Iterator[str], path: str, *, refuse: bool) -> Iterator[str]:
    """Return lines; refuse a file that begins with a tag and most of whose first lines are elements."""
    head = list(islice(lines, CHECKED)) if refuse else []
    texts = [line.strip() for line in head if line.strip()]
    if texts and (_TAG.fullmatch(texts[0]) or texts[0].startswith(("<?xml", "<!"))):
        elements = sum(line.endswith(">") and _TAG.match(line) is not None for line in texts)
        if 2 * elements > len(texts):
            remedy = "Save its text, one sentence a line; if markup is to be learnt, --data.format lines."
            raise UserError(f"most lines are markup ({texts[0][:40]})", place=path, remedy=remedy)
    return chain(head, lines)


def _where_they_part(sides: tuple[str, str], encoding: str, counts: Sequence[int]) -> str:
    """Read two files of unequally many lines again, and return where to look for the difference."""
    if not all(locate_file("", place).is_file() for place in sides):  # a pipe is read once
        return "Both sides need the same number of lines."
    fewest, most = min(counts), max(counts)
    compared = min(fewest, COMPARED)
    longer = compared + min(most - fewest, COMPARED)
    lengths = [
        [len(line) for line in islice(read_lines(place, encoding), compared if count == fewest else longer)]
        for place, count in zip(sides, counts, strict=True)
    ]
    line = first_suspicious_line(*lengths)
    return f"If the files belong together, check around line {line}, where the lengths stop agreeing."
