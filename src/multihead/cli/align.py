"""Write the pairs of documents and their translations.

    multihead align letter.docx letter.en.docx -o letter.tmx
    multihead align manual/ manual.en/ -o manual.tmx
    multihead align book.epub book.en.epub --sentences -o book.tsv

Two documents of any formats, or two folders of them. Subtitles are aligned by
time, messages by key, paragraphs by their lengths (Gale and Church 1993) and
by the names and numbers that both have.

A translation memory (.tmx) keeps corrected translations: `multihead translate
--tm` takes what it has, `multihead train --corrections` learns from it. Text
(.tsv) of --sentences is a corpus to train on; `multihead clean` finds passages
that were aligned wrongly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from multihead.apps.corpus.aligning import DocumentAlignment, PassagePair, align_documents
from multihead.apps.corpus.aligning_folders import language_of, plan_alignments
from multihead.apps.documents.finished_documents import has_changed, recorded_languages
from multihead.cli import _console, _options
from multihead.cli._writing import in_blocks, same_file, write
from multihead.data.cleaning.sample import doubts
from multihead.data.documents.library import languages_match, tmx_lines
from multihead.errors import UserError
from multihead.system.terminal import escape_unprintable
from multihead.text.languages import canonical
from multihead.text.lines import file_kind

ENDINGS = (".tmx", ".tsv")
SHOWN = 60
"""Characters of a passage without a counterpart that are shown."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    document: Annotated[str, _options.POSITIONAL, _options.Option(metavar="DOCUMENT")]
    """A document, or a folder of them."""
    translation: Annotated[str, _options.POSITIONAL, _options.Option(metavar="TRANSLATION")]
    """Its translation, or a second folder."""
    output: Annotated[str, _options.Option(aliases=("-o",), metavar="FILE")]
    """File to write: .tmx, a translation memory, or .tsv, text without tags; both may be compressed
    (.tsv.gz)."""
    sentences: _options.Flag = False
    """Split paragraphs into sentences, to train on. Paragraphs are what --tm of translate looks up."""
    source_language: Annotated[_options.Text, _options.Option(aliases=("--src-lang",))] = None
    """Language of the documents, such as de. (default: what they or their names say, or
    the run that translated them)"""
    target_language: Annotated[_options.Text, _options.Option(aliases=("--tgt-lang",))] = None
    """Language of the translations, as en, likewise."""
    encoding: _options.Encoding = "utf-8"
    """Text encoding of documents that do not say their own."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    kind = file_kind(options.output)
    if kind not in ENDINGS:
        raise UserError(
            "neither .tmx nor .tsv", place=options.output, remedy="Name a file that ends in .tmx."
        )
    console = _console.messages()
    source, target = Path(options.document), Path(options.translation)
    plan = plan_alignments(source, target, options.target_language)
    for pair in plan.documents:
        if any(same_file(str(path), options.output) for path in pair):
            raise UserError(
                "the output would overwrite a document", place=options.output, remedy="Name another."
            )
    pairs: list[PassagePair] = []
    languages: list[str | None] = [None, None]
    failed = 0
    for source, target in plan.documents:
        requested = _languages(options, source, target)
        try:
            alignment = align_documents(
                source,
                target,
                languages=requested,
                sentences=options.sentences,
                encoding=None if options.encoding == "utf-8" else options.encoding,
            )
        except UserError as error:
            if len(plan.documents) == 1:
                raise
            console.print(f"multihead: {error}", style="red")
            failed += 1
            continue
        _show(source, alignment)
        named = [code or other for code, other in zip(requested, alignment.languages, strict=True)]
        for path, code, before in zip((source, target), named, languages, strict=True):
            if code and before and not languages_match(before, code):
                fact = f"names {code} as its language, documents before it {before}"
                console.print(f"caution: {path} {fact}", style="yellow")
        pairs += alignment.pairs
        languages = [before or code for before, code in zip(languages, named, strict=True)]
        if has_changed(source, target):
            fact = "has changed since it was translated; pairs of the changed passages may be wrong"
            console.print(f"caution: {source} {fact}", style="yellow")
    for path in plan.alone:
        console.print(f"{path}: no translation of it")
    if plan.others:
        console.print(f"{_count(plan.others.total(), 'other file')} left out")
    if not pairs:
        remedy = "Do both say the same, in two languages?"
        raise UserError("no pair was found", place=f"{options.document} {options.translation}", remedy=remedy)
    _write(options, kind, pairs, languages)
    texts = ((pair.source.text, pair.target.text) for pair in pairs)
    for doubt in doubts(texts, len(pairs)):
        console.print(f"caution: {doubt}", style="yellow")
    console.print(f"{_count(len(pairs), 'pair')}: {options.output}")
    return 1 if failed else 0


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _languages(options: Options, source: Path, target: Path) -> tuple[str | None, str | None]:
    """Return the languages that are given, that the names say, or that a run translated between."""
    codes = (options.source_language, options.target_language)
    folders = Path(options.document), Path(options.translation)
    languages = [
        canonical(code, place=option)
        if code
        else language_of(path) or language_of(folder.absolute()) or recorded
        for code, path, folder, option, recorded in zip(
            codes,
            (source, target),
            folders,
            ("--source-language", "--target-language"),
            recorded_languages(target),
            strict=True,
        )
    ]
    return languages[0], languages[1]


def _show(source: Path, found: DocumentAlignment) -> None:
    console = _console.messages()
    parts = [_count(len(found.pairs), "pair")]
    parts += [f"{found.same:,} the same on both sides, left out"] if found.same else []
    parts += [f"{_count(len(found.alone), 'passage')} without a counterpart"] if found.alone else []
    console.print(f"{source}: {', '.join(parts)}")
    for place, text in found.alone[: _console.MAX_NOTES]:
        short = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        console.print(escape_unprintable(f"  {place}: {' '.join(short.split())}"), soft_wrap=True)
    if len(found.alone) > _console.MAX_NOTES:
        console.print(f"  and {len(found.alone) - _console.MAX_NOTES:,} more")


def _write(
    options: Options, kind: str, pairs: Sequence[PassagePair], languages: Sequence[str | None]
) -> None:
    if kind == ".tsv":
        write(in_blocks(_rows(pairs)), options.output)
        return
    source, target = languages
    if not (source and target) or source == target:
        fact = f"a memory needs both languages; known: {source or 'none'} to {target or 'none'}"
        remedy = "Name them, --source-language de --target-language en, or in the files: letter.de.docx."
        raise UserError(fact, remedy=remedy)
    lines = tmx_lines(((pair.source, pair.target) for pair in pairs), source, target)
    write(in_blocks(lines), options.output)


def _rows(pairs: Sequence[PassagePair]) -> Iterator[str]:
    for pair in pairs:
        yield "\t".join(" ".join(side.text.split()) for side in (pair.source, pair.target))
