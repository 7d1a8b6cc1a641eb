"""Translate text line by line, or a document.

    echo "Guten Tag. Wie geht's?" | multihead translate runs/de-en
    multihead translate runs/de-en -i test.de -o test.en --beam-size 8
    multihead translate runs/many --to fr < text.de
    multihead translate runs/de-en letter.docx -o letter.en.docx
    multihead translate runs/de-en app.po -o app.en.po --tm old.tmx
    multihead translate runs/de-en manual/ -o manual.en

Lines: it reads standard input or -i and writes standard output or -o, one
output line per input line. A line of several sentences is split for the model
and joined again; placeholders such as {name}, numbers and addresses stay as
they are. --lines treats each line as one sentence. Several runs with the same
vocabulary form an ensemble. An empty line stays empty; a line too long for the
model stays as it is, with a message on standard error. With --n-best 2 or more
each output line has the line number, the score and a translation, separated by
tabs; the score is the log-probability divided by the length penalty. --n-best,
--scores, --prefix, --prefixes and sampling take every line as it is.

Documents: Word, PowerPoint, Excel, OpenDocument, HTML, e-books, Markdown,
LaTeX, subtitles, PO, XLIFF, strings of apps and more: docs/how-to/documents.md.
All but the text stays as it is. Given a folder, every document in it is
translated into a second folder. They need multihead-documents. An interrupted
command resumes when it is repeated.
"""

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Annotated, Any, Literal

from multihead.cli import _console, _directions, _options
from multihead.cli._effect import refuse_options
from multihead.cli._parts import join_parts, open_parts, translate_part
from multihead.cli._ray import translate_on_ray
from multihead.cli._searching import Precision, search_settings
from multihead.cli._translating_lines import ByLine, BySentence
from multihead.cli._writing import same_file, write
from multihead.data import documents
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.run.names import MODEL, RECIPE, WEIGHTS
from multihead.system import memory
from multihead.tasks.translation.lines.loading import load_translator
from multihead.tasks.translation.lines.translation import Output, Translation
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.tasks.translation.without_effect import refuse_other_methods, without_effect
from multihead.text.corpus import read_lines
from multihead.text.terms import Glossary

CHUNK = 1000
"""Number of lines translated together: enough to sort them by length, few enough for early output. It divides
the blocks of ``--part``, whose output so has the same bytes."""
STANDARD = "-"
COMMAND, WORKFLOW = "multihead.cli._translating_document", "multihead.apps.documents.translating_documents"
"""Imported for a document only: they need multihead-documents."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides search settings."""

    runs: Annotated[
        tuple[str, ...],
        _options.POSITIONAL,
        _options.Option(metavar="RUN... [DOCUMENT...]"),
    ]
    """Run folder(s), and documents to translate, or folders of them."""
    input: Annotated[_options.File, _options.Option(aliases=("-i",))] = None
    """Text file with one sentence per line, plain or compressed. (default: standard input)"""
    output: Annotated[_options.File, _options.Option(aliases=("-o",))] = None
    """Output file, which appears when it is complete. (default: standard output;
    of a document: its name with the target language, letter.en.docx)
    Folder for several documents, or for the translation of a folder."""
    to: _directions.To = None
    """Target language, for a model of several directions."""
    of: _directions.From = None
    """Source language; checks that the direction was trained."""
    tags: _directions.Tags = ()
    """Domain tags of the text ("legal"), for a model trained with them."""
    zero_shot: _directions.ZeroShot = False
    """Allow a direction that was never trained."""
    prefix: _options.Text = None
    """Words that every translation must start with."""
    prefixes: Annotated[_options.File, _options.RARE] = None
    """File with the prefix of each translation, aligned with the input line by line."""
    scores: _options.Flag = False
    """Write the score and a tab before each translation."""
    lines: _options.Flag = False
    """Treat each line as one sentence."""
    glossary: _options.File = None
    """Terms that must be translated as this file says: source, tab, target on each line."""
    tm: _options.File = None
    """Translation memory (.tmx, .xliff, .po, .ts, .xcstrings): exact matches are used for a document,
    and similar ones are named for review."""
    report: Annotated[_options.File, _options.RARE] = None
    """Table (.tsv) of what to review in documents: place, reason, source and translation of each segment."""
    review_comments: Annotated[_options.Flag, _options.RARE] = False
    """Write what to review, and why, as comments into the document (Word, Excel, XLIFF, PO)."""
    again: Annotated[_options.Flag, _options.RARE] = False
    """Translate segments of a document again that are translated already, and
    replace translations that were changed by hand."""
    columns: Annotated[tuple[str, ...], _options.Option(metavar="NAME..."), _options.RARE] = ()
    """Columns of a table (.csv, .tsv) to translate: their names in its first row,
    or their numbers, from 1."""
    only: Annotated[tuple[str, ...], _options.Option(metavar="NAME..."), _options.RARE] = ()
    """Names of the documents in a folder that are translated ('*.md' '*.json').
    [all but tables, settings and programs]"""
    part: Annotated[str | None, _options.Option(metavar="I/N"), _options.RARE] = None
    """Translate part I of N of a large file, in blocks below the folder -o; killed, it resumes
    (docs/how-to/parallel.md)."""
    engine: Annotated[Literal["ray"] | None, _options.Option(metavar="ray"), _options.RARE] = None
    """Translate all parts as tasks of Ray Data, on this machine or the cluster that RAY_ADDRESS names."""
    join: Annotated[_options.File, _options.RARE] = None
    """Write the whole translation to this file when all parts are translated; - is standard output."""
    encoding: Annotated[_options.Encoding, _options.RARE] = "utf-8"
    """Text encoding of the input; lines are written in UTF-8, a document in its own encoding."""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(Options, arguments, sections=("search",), short="search")
    runs, paths = _split_arguments(options.runs)
    document = paths[0] if paths else None
    # Without the library this is refused before a model is loaded.
    about: Any = documents.about_documents(COMMAND, document) if document else None
    if not runs:
        raise UserError("no run folder was given", remedy="Usage: multihead translate RUN < text")
    for folder in runs[1:]:
        if not Path(folder).is_dir():
            raise _no_run_folder(folder)
    for source in (options.input, options.prefixes):
        if source and options.output and same_file(source, options.output):
            remedy = "Name another output file."
            raise UserError("the output would overwrite an input file", place=options.output, remedy=remedy)
    if options.prefixes:
        refuse_options(options, ("prefix",), "beside --prefixes")
    search = search_settings(runs[0], keys)
    refuse_other_methods(keys, search.method)
    _refuse_without_effect(options, document, search)
    if options.review_comments:
        _refuse_comments(paths)
    if options.only and not any(path.is_dir() for path in paths):
        raise without_effect("--only", "without a folder")
    several = len(paths) > 1 or bool(document and document.is_dir())
    parts = open_parts(options, search) if options.part or options.join or options.engine else None
    if parts and options.engine:
        translate_on_ray(arguments, len(parts.blocks))
    if parts and options.join:
        join_parts(options, parts)
    if parts and not options.part:
        return 0
    memory.keep_memory()
    translator = load_translator(*runs, device=options.device, precision=options.precision)
    to = options.to
    if document and not several and to is None and translator.directions is not None:
        encoding = None if options.encoding == "utf-8" else options.encoding
        to = about.named_target(document, translator.directions.targets, encoding)
    translator = _directions.choose_direction(
        translator, to, options.of, options.tags, zero_shot=options.zero_shot
    )
    texts = TextTranslator.of_runs(translator, *runs)
    if document:
        return _translate_documents(options, paths, search, texts, runs)
    glossary = Glossary.load(options.glossary) if options.glossary else None
    translate_lines = (
        ByLine(translator, search)
        if _by_line(options, search)
        else BySentence(texts, search, glossary, sentences=not options.lines)
    )
    if parts:
        translate_part(
            options,
            parts,
            translate_lines,
            lambda number, translation: _spell(number, translation, search, scores=options.scores),
            CHUNK,
        )
        return 0
    write(_blocks(translate_lines, search, options), options.output)
    return 0


def _translate_documents(
    options: Options,
    paths: Sequence[Path],
    search: SearchSettings,
    texts: TextTranslator,
    runs: Sequence[str],
) -> int:
    about: Any = documents.about_documents(COMMAND, paths[0])
    notes: list[Any] = []
    output = Path(options.output) if options.output else None
    status = 0
    if len(paths) > 1 or paths[0].is_dir():
        request = partial(_request, options, search=search)
        status = about.translate_all(paths, output, request, texts, runs, only=options.only, notes=notes)
    elif output:
        about.translate_to(_request(options, paths[0], output, search), texts, runs, notes)
    else:
        workflow = documents.about_documents(WORKFLOW, paths[0])
        beside = workflow.default_output(paths[0], texts.target_language)
        about.translate_beside(_request(options, paths[0], beside, search), texts, runs, notes)
    if options.report:
        about.write_report(notes, options.report)
    return status


def _split_arguments(names: Sequence[str]) -> tuple[tuple[str, ...], list[Path]]:
    """Split positional arguments into run folders, and documents or folders of them, which follow."""

    def is_document(number: int, path: Path) -> bool:
        if path.is_dir():
            return number > 0 and not any((path / name).exists() for name in (RECIPE, MODEL, WEIGHTS))
        return documents.is_document(path)

    named = [name for number, name in enumerate(names) if is_document(number, Path(name))]
    return tuple(name for name in names if name not in named), [Path(name) for name in named]


def _no_run_folder(name: str) -> UserError:
    """Return the error for an argument that is neither a run folder nor a document."""
    if not (Path(name).exists() or documents.is_installed()):
        return UserError("no such run folder", place=name, remedy="Check the path.")
    library = documents.about_documents("multihead.data.documents.library", name)
    kinds = f"Documents end in {', '.join(library.BY_ENDING)}"
    if not Path(name).exists():
        return UserError(
            "no such run folder", place=name, remedy=f"Name a run folder or a document. {kinds}."
        )
    remedy = library.conversion(name) or f"{kinds}: convert others first, as pandoc does"
    remedy = f"{remedy}. -i FILE reads lines, markup and all."
    return UserError("a file, but no document that is known", place=name, remedy=remedy)


def _refuse_without_effect(options: Options, document: Path | None, search: SearchSettings) -> None:
    """Refuse options that would have no effect."""
    if document:
        refuse_options(options, ("input", "prefix", "prefixes", "scores", "part", "join"), "on a document")
        if search.n_best > 1 or search.method == "sample":
            remedy = "Leave --n-best and --method sample out."
            raise UserError("a document gets one translation", place=str(document), remedy=remedy)
        return
    refuse_options(options, ("tm", "report", "review_comments", "again", "columns", "only"), "on lines")
    if _by_line(options, search):
        refuse_options(options, ("glossary",), "with --n-best, --scores, --prefix, --prefixes or sampling")
    if options.input and documents.is_installed() and _is_more_than_lines(Path(options.input)):
        fact = "a document, not lines of text"
        command = shlex.join(["multihead", "translate", options.runs[0], options.input])
        remedy = f"Name it without -i: {command}"
        raise UserError(fact, place=options.input, remedy=remedy)


def _refuse_comments(paths: Sequence[Path]) -> None:
    """Refuse comments if no document can have any."""
    formats = documents.about_documents("multihead.data.documents.library", paths[0]).BY_ENDING
    if not any(path.is_dir() or formats[path.suffix.lower()].comments for path in paths):
        remedy = "Leave --review-comments out; --report FILE lists what to review."
        raise UserError("no comments are written into such a document", place=str(paths[0]), remedy=remedy)


def _is_more_than_lines(path: Path) -> bool:
    library = documents.about_documents("multihead.data.documents.library", path)
    lines = {".txt", ".md", *library.TABLES}
    return path.suffix.lower() in set(library.BY_ENDING) - lines


def _by_line(options: Options, search: SearchSettings) -> bool:
    """Return True if every line is given to the translator as it is."""
    several = search.n_best > 1 or search.method == "sample"
    return several or options.scores or bool(options.prefix or options.prefixes)


def _request(options: Options, document: Path, output: Path, search: SearchSettings) -> Any:
    return documents.about_documents(WORKFLOW, document).DocumentRequest(
        document,
        output,
        search,
        memory=Path(options.tm) if options.tm else None,
        glossary=Path(options.glossary) if options.glossary else None,
        sentences=not options.lines,
        encoding=None if options.encoding == "utf-8" else options.encoding,
        again=options.again,
        columns=options.columns,
        comments=options.review_comments,
    )


def _blocks(
    translate_lines: ByLine | BySentence, search: SearchSettings, options: Options
) -> Iterator[list[str]]:
    """Yield the output lines, chunk by chunk."""
    console = _console.messages()
    interactive = options.input in (None, STANDARD) and sys.stdin.isatty()
    if interactive:
        console.print("Type one sentence per line; Ctrl-D ends.")
    size = 1 if interactive else CHUNK
    lines = read_lines(options.input or STANDARD, options.encoding)
    prefixes = read_lines(options.prefixes, options.encoding) if options.prefixes else repeat(options.prefix)
    number = notes = 0
    while chunk := list(islice(lines, size)):
        forced = [prefix or "" for prefix in islice(prefixes, len(chunk))]
        if len(forced) != len(chunk):
            raise _mismatch(options, f"{number + len(forced):,} lines, fewer than the input")
        if len(chunk) < size:  # the last chunk
            _check_end(prefixes, number + len(chunk), options)
        translations = translate_lines(chunk, forced, number)
        noted = [
            (line, entry.note) for line, entry in enumerate(translations, start=number + 1) if entry.note
        ]
        for line, note in noted[: max(0, _console.MAX_NOTES - notes)]:
            console.print(f"line {line:,}: {note}")
        notes += len(noted)
        yield [
            text
            for line, translation in enumerate(translations, start=number + 1)
            for text in _spell(line, translation, search, scores=options.scores)
        ]
        if not number and translate_lines.caution:
            console.print(f"caution: {translate_lines.caution}", style="yellow")
        number += len(chunk)
    if notes > _console.MAX_NOTES:
        console.print(f"{notes - _console.MAX_NOTES:,} more lines have such a note")
    _check_end(prefixes, number, options)


def _check_end(prefixes: Iterator[str | None], number: int, options: Options) -> None:
    if options.prefixes and next(prefixes, None) is not None:
        raise _mismatch(options, f"more lines than the {number:,} of the input")


def _mismatch(options: Options, fact: str) -> UserError:
    remedy = "Give one prefix per input line, empty for none."
    return UserError(fact, place=str(options.prefixes), remedy=remedy)


def _spell(number: int, translation: Translation, search: SearchSettings, *, scores: bool) -> Iterator[str]:
    """Yield the output lines of one input line."""
    if search.n_best > 1:
        for output in translation.hypotheses:
            yield f"{number}\t{output.score:.4f}\t{output.text}"
    elif scores:
        best: Output | None = next(iter(translation.hypotheses), None)
        yield f"{best.score if best else 0:.4f}\t{translation.text}"
    else:
        yield translation.text
