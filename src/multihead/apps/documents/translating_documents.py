"""Translation of a document's segments: exact matches of a memory first, then the model."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from multihead.apps.documents.document_journal import Journal, read
from multihead.apps.documents.message_directives import directive_faults, number_directives
from multihead.apps.documents.review_notes import ReviewNote, translation_record
from multihead.apps.documents.translation_memory import TranslationMemory
from multihead.data.documents.library import (
    Document,
    Markup,
    Segment,
    Translation,
    faults,
    format_of,
    languages_match,
    open_document,
    to_translate,
    write,
)
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.run.embedded_checksum import file_identity as version
from multihead.run.names import MODEL, WEIGHTS
from multihead.system import disk
from multihead.system.progress import OnCount
from multihead.tasks.translation.texts.foreign import foreign
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.terms import Glossary

CHUNK = 6000
"""Characters translated together; a killed command loses at most these."""


@dataclass(frozen=True)
class DocumentRequest:
    """A document to translate.

    Attributes:
        path: the document.
        output: the file to write, in the same format.
        search: search settings.
        memory: a TMX, XLIFF or PO file.
        glossary: a glossary.
        sentences: split lines into sentences; False: each line of a segment is one sentence.
        encoding: encoding of a text that does not declare one.
        again: translate segments again that already have a translation.
        columns: columns of a table of values, see ``open_document``.
        linked: places in it to which other documents link.
        comments: write the reasons for reviews as comments, in a format with comments.
    """

    path: Path
    output: Path
    search: SearchSettings
    memory: Path | None = None
    glossary: Path | None = None
    sentences: bool = True
    encoding: str | None = None
    again: bool = False
    columns: tuple[str, ...] = ()
    linked: frozenset[str] = frozenset()
    comments: bool = False


@dataclass
class Summary:
    """Counts of a document's segments.

    Attributes:
        segments: all segments.
        kept: segments translated before.
        from_memory: exact matches in the memory.
        translated: segments translated by the model.
        resumed: segments among these from an earlier, interrupted command.
        review: segments to review, marked if the format has a mark.
        notes: reasons for reviews, and parts of the document that are not translated.
        cautions: disagreements between the document's and the translator's languages.
    """

    segments: int = 0
    kept: int = 0
    from_memory: int = 0
    translated: int = 0
    resumed: int = 0
    review: int = 0
    notes: list[ReviewNote] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)


def translate_document(
    request: DocumentRequest,
    translator: TextTranslator,
    folders: Sequence[str | Path],
    *,
    progress: OnCount | None = None,
    caution: Callable[[str], None] | None = None,
) -> Summary:
    """Translate a document into a file, which appears when it is complete.

    An interrupted translation resumes if the same document is translated into the same file with the same
    model and settings.

    Args:
        request: the document.
        translator: a translator of one direction.
        folders: the translator's runs, to which the journal is bound.
        progress: called with the number of finished segments.
        caution: called with each of the summary's cautions, before anything is translated.

    Raises:
        UserError: the document, the memory or the glossary cannot be read; the output has another format, is
            the document itself, or cannot be written.
    """
    _refuse_output(request)
    source, target = translator.source_language or None, translator.target_language or None
    document = open_document(
        request.path,
        source_language=source,
        target_language=target,
        encoding=request.encoding,
        columns=request.columns,
    )
    document.note_links(request.linked)
    glossary = Glossary.load(request.glossary) if request.glossary else None
    memory = _memory(request.memory, source, target) if request.memory else None
    messages = format_of(request.path).messages
    results = _Results(document, request.comments)
    summary = results.summary

    def add_caution(text: str) -> None:
        summary.cautions.append(text)
        if caution:
            caution(text)

    for text in _language_conflicts(document, source, target):
        add_caution(text)
    pending: dict[int, Segment] = {}
    for segment in document.segments:
        if segment.translated and not request.again:
            summary.kept += 1
        elif memory and (match := memory.find(segment.source)):
            results.add(segment, match.target, directive_faults(segment, match.target, messages))
            summary.from_memory += 1
        else:
            pending[segment.number] = segment

    def add_translated(records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            results.add(pending.pop(record["number"]), read(record["target"]), record["reasons"])
            summary.translated += 1
        if progress:
            progress(summary.segments - len(pending), summary.segments)

    with Journal(request.output, translation_digest(request, translator, folders)) as journal:
        add_translated(_valid(journal.records, pending))
        summary.resumed = summary.translated
        for chunk in _chunks([*pending.values()]):
            translated = translator.translate_markup(
                [to_translate(number_directives(segment, messages)) for segment in chunk],
                request.search,
                sentences=request.sentences,
                glossary=glossary,
                bare=True,
            )
            records = [
                translation_record(segment, translation, messages, memory)
                for segment, translation in zip(chunk, translated, strict=True)
            ]
            journal.add(records)
            if not summary.translated and (text := foreign(translated, source or "")):
                add_caution(text)
            add_translated(records)
        write(document, results.translations, request.output)
        journal.remove()
    return summary


class _Results:
    """Translations of a document so far, and their counts."""

    def __init__(self, document: Document, comments: bool) -> None:
        notes = [ReviewNote(*note) for note in document.notes]
        self.summary = Summary(segments=len(document.segments), notes=notes)
        self.translations: dict[int, Translation] = {}
        self._comments = comments

    def add(self, segment: Segment, target: Markup, reasons: Sequence[str]) -> None:
        """Add a translation, and the reasons to review it."""
        comment = "\n".join(reasons) if self._comments else ""
        self.translations[segment.number] = Translation(target, review=bool(reasons), comment=comment)
        self.summary.review += bool(reasons)
        self.summary.notes += [
            ReviewNote(segment.place, reason, segment.source.text, target.text) for reason in reasons
        ]


def _language_conflicts(document: Document, source: str | None, target: str | None) -> list[str]:
    """Return the disagreements between a document's and the translator's languages."""
    sides = (("from", document.source_language, source), ("to", document.target_language, target))
    return [
        f"the document names {named} as the language to translate {side}, the model translates {side} {ours}"
        for side, named, ours in sides
        if named and ours and not languages_match(ours, named)
    ]


def _refuse_output(request: DocumentRequest) -> None:
    kind = format_of(request.path).name
    if request.output.exists() and request.path.exists() and request.output.samefile(request.path):
        remedy = "Name another output file."
        raise UserError("the output would overwrite the document", place=str(request.output), remedy=remedy)
    if format_of(request.output).name != kind:
        fact = f"a document of the format {kind} cannot be written as {request.output.suffix}"
        remedy = f"Name a file that ends in {request.path.suffix}."
        raise UserError(fact, place=str(request.output), remedy=remedy)
    if request.output.is_dir():
        raise UserError("a folder", place=str(request.output), remedy="Name a file.")
    if not request.output.parent.is_dir():
        raise UserError("no such folder", place=str(request.output.parent), remedy="Make it first.")


def translation_digest(
    request: DocumentRequest, translator: TextTranslator, folders: Sequence[str | Path]
) -> str:
    """Return a digest of everything on which the translation depends."""
    named = [request.path, *filter(None, (request.memory, request.glossary))]
    read_files = [path for path in named if path.is_file()]  # a missing one is reported when it is read
    models = [Path(folder) / name for folder in folders for name in (MODEL, WEIGHTS)]
    content: dict[str, Any] = {
        "files": [_digest(path, version(path.stat())) for path in read_files],
        "models": [_digest(path, version(path.stat())) for path in models if path.is_file()],
        "search": request.search.model_dump(mode="json"),
        "options": [
            request.sentences,
            request.encoding,
            request.again,
            *request.columns,
            *sorted(request.linked),
        ],
        "languages": [translator.source_language, translator.target_language],
        **({"comments": True} if request.comments else {}),
        "tags": list(translator.translator.asked.symbols) if translator.translator.asked else [],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _memory(path: Path, source: str | None, target: str | None) -> TranslationMemory:
    return _read_memory(path, version(path.stat()) if path.is_file() else (), source, target)


# Documents of a folder share their memory and model, which are read once.
@lru_cache(1)
def _read_memory(
    path: Path, version: tuple[int, ...], source: str | None, target: str | None
) -> TranslationMemory:
    return TranslationMemory(path, source, target)


@lru_cache(64)
def _digest(path: Path, version: tuple[int, ...]) -> str:
    return disk.sha256(path)


def _chunks(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    chunk: list[Segment] = []
    size = 0
    for segment in segments:
        chunk.append(segment)
        size += len(segment.source.text)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _valid(
    records: Sequence[Mapping[str, Any]], segments: Mapping[int, Segment]
) -> Iterator[Mapping[str, Any]]:
    """Yield a journal's records that fit the document, one per segment."""
    for record in records:
        try:
            segment = segments.get(record["number"])  # those that were yielded are pending no more
            whole = all(isinstance(reason, str) for reason in record["reasons"])
            if segment and whole and not faults(segment.source, read(record["target"])):
                yield record
        except (KeyError, TypeError, IndexError):
            continue


def default_output(path: Path, language: str) -> Path:
    """Return the name of a translation: ``letter.docx`` becomes ``letter.de.docx``.

    Raises:
        UserError: the target language is not known.
    """
    if not language:
        fact = "the run does not name its target language, which the output would be named after"
        raise UserError(fact, remedy="Name the output: -o FILE.")
    return path.with_name(f"{path.stem}.{language}{path.suffix}")
