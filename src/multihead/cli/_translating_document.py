"""``multihead translate RUN FILE ...``: translation of documents and folders of them, and its summary."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import shorten

from multihead.apps.documents.finished_documents import find_finished
from multihead.apps.documents.page_links import linked_places
from multihead.apps.documents.review_notes import ReviewNote
from multihead.apps.documents.translating_documents import (
    DocumentRequest,
    Summary,
    translate_document,
    translation_digest,
)
from multihead.apps.documents.translating_folders import SELDOM, plan_translations
from multihead.cli import _console
from multihead.cli._counting import progress_bar
from multihead.cli._writing import write
from multihead.data.documents.library import best_language, open_document
from multihead.errors import UserError
from multihead.tasks.translation.texts.text_translator import TextTranslator

SHOWN = 40
"""Characters of a segment that a note shows."""


def named_target(path: Path, languages: Iterable[str], encoding: str | None) -> str | None:
    """Return the one of these languages that a document asks to be translated to; None without one."""
    with suppress(UserError):  # reported when the document is translated
        named = open_document(path, encoding=encoding).target_language
        return best_language(named, list(languages)) if named else None
    return None


def translate(
    request: DocumentRequest, translator: TextTranslator, folders: Sequence[str], notes: list[ReviewNote]
) -> None:
    """Translate a document, print the summary on standard error, and add its notes to ``notes``."""
    console = _console.messages()

    def caution(text: str) -> None:
        console.print(f"caution: {text}", style="yellow")

    with progress_bar(f"translating {request.path.name}") as progress:
        summary = translate_document(request, translator, folders, progress=progress, caution=caution)
    show(summary, request.output)
    notes += summary.notes


def translate_to(
    request: DocumentRequest, translator: TextTranslator, folders: Sequence[str], notes: list[ReviewNote]
) -> None:
    """Translate a document into a file whose name was typed, which is replaced."""
    key = translation_digest(replace(request, again=False), translator, folders)
    translate(request, translator, folders, notes)
    with find_finished(None) as done:
        done.add(request.path, request.output, key, _languages(translator))


def translate_beside(
    request: DocumentRequest, translator: TextTranslator, folders: Sequence[str], notes: list[ReviewNote]
) -> None:
    """Translate a document into a file whose name was not typed, unless it is there and somebody's.

    Raises:
        UserError: the file was changed since it was translated, or is not a translation by multihead.
    """
    key = translation_digest(replace(request, again=False), translator, folders)
    with find_finished(None) as done:
        state = "new" if request.again else done.state(request.output, key)
        if state == "finished":
            _console.messages().print(f"{request.output}: not translated again, because nothing has changed")
            return
        if state == "changed":
            fact = "changed by hand, or not written by this command"
            remedy = "--again replaces it, -o FILE writes another one."
            raise UserError(fact, place=str(request.output), remedy=remedy)
        translate(request, translator, folders, notes)
        done.add(request.path, request.output, key, _languages(translator))


def _languages(translator: TextTranslator) -> tuple[str, str]:
    return translator.source_language, translator.target_language


def translate_all(
    documents: Sequence[Path],
    output: Path | None,
    request_of: Callable[[Path, Path], DocumentRequest],
    translator: TextTranslator,
    folders: Sequence[str],
    *,
    only: Sequence[str],
    notes: list[ReviewNote],
) -> int:
    """Translate several documents, and print a summary of each; return the exit status.

    A document that cannot be translated is reported, and the others are translated.
    """
    console = _console.messages()
    plan = plan_translations(documents, output, translator.target_language, only=only)
    linked = linked_places([path for path, _ in plan.documents])
    failed = before = empty = 0
    unchanged: list[Path] = []
    with find_finished(plan.root) as done:
        for path, to in plan.documents:
            try:
                request = replace(request_of(path, to), linked=linked.get(path, frozenset()))
                key = translation_digest(replace(request, again=False), translator, folders)
                state = "new" if request.again else done.state(to, key)
                if state == "finished":
                    before += 1
                    continue
                if state == "changed":
                    unchanged.append(to)
                    continue
                to.parent.mkdir(parents=True, exist_ok=True)
                if path.is_file() and not path.stat().st_size:
                    to.write_bytes(b"")
                    empty += 1
                    continue
                translate(request, translator, folders, notes)
                done.add(path, to, key, _languages(translator))
            except UserError as error:
                console.print(f"multihead: {error}", style="red")
                failed += 1
    if empty:
        console.print(f"{empty:,} empty documents stay empty")
    if before:
        console.print(f"not translated again, because nothing has changed: {before:,}")
    if unchanged:
        named = ", ".join(map(str, unchanged[:5])) + (
            f" and {len(unchanged) - 5:,} more" if len(unchanged) > 5 else ""
        )
        console.print(
            f"caution: kept, because changed by hand or not written by this command: {named} "
            "(--again replaces them)",
            style="yellow",
        )
    if plan.others:
        most = sorted(plan.others.items(), key=lambda found: (-found[1], found[0]))[:5]
        endings = ", ".join(f"{count:,} {ending}" for ending, count in most)
        hint = "; --only names what to translate" if not only and plan.others.keys() & SELDOM else ""
        console.print(f"{plan.others.total():,} other files were left out: {endings}{hint}")
    if failed:
        console.print(f"{failed:,} of {len(plan.documents):,} documents were not translated", style="red")
    return 1 if failed else 0


def show(summary: Summary, output: Path) -> None:
    """Print the counts, and the first of each kind of problem."""
    console = _console.messages()
    counts = {
        "translated": summary.translated,
        "from the memory": summary.from_memory,
        "translated before, kept": summary.kept,
        "to review": summary.review,
    }
    parts = [f"{count:,} {what}" for what, count in counts.items() if count or what == "translated"]
    console.print(f"{output}: {summary.segments:,} segments: {', '.join(parts)}")
    if summary.resumed:
        console.print(f"{summary.resumed:,} of them were finished by an interrupted command")
    for note in summary.notes[: _console.MAX_NOTES]:
        text = f' "{shorten(note.source, SHOWN, placeholder=" ...")}"' if note.source else ""
        console.print(f"{note.place}:{text} {note.reason}")
    if len(summary.notes) > _console.MAX_NOTES:
        console.print(f"{len(summary.notes) - _console.MAX_NOTES:,} more such notes: --report FILE has all")


def write_report(notes: Iterable[ReviewNote], path: str) -> None:
    """Write all notes as a tab-separated table.

    Raises:
        UserError: the file cannot be written.
    """
    rows = [ReviewNote._fields, *notes]
    write([["\t".join(" ".join(cell.split()) for cell in row) for row in rows]], path)
