"""``multihead translate RUN FILE``: translation of a document, and its summary."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from multihead.cli import _console
from multihead.cli._counting import counted
from multihead.documents import KINDS, open_document
from multihead.documents.document import best_language
from multihead.errors import UserError
from multihead.generation.text_translator import TextTranslator
from multihead.workflows.translating_documents import Request, Summary, translate_document


def split_arguments(names: Sequence[str]) -> tuple[tuple[str, ...], Path | None]:
    """Split positional arguments into run folders and at most one document, the last.

    Raises:
        UserError: several documents; a name that is neither.
    """
    folders = [name for name in names if Path(name).is_dir() or Path(name).suffix.lower() not in KINDS]
    documents = [name for name in names if name not in folders]
    if len(documents) > 1:
        remedy = "Translate them one by one."
        raise UserError(f"{len(documents)} documents were given", place=documents[1], remedy=remedy)
    return tuple(folders), Path(documents[0]) if documents else None


def named_target(path: Path, languages: Iterable[str], encoding: str | None) -> str | None:
    """Return the one of these languages that a document asks to be translated to; None without one."""
    with suppress(UserError):  # reported when the document is translated
        named = open_document(path, encoding=encoding).target_language
        return best_language(named, list(languages)) if named else None
    return None


def translate(request: Request, translator: TextTranslator, folders: Sequence[str]) -> None:
    """Translate a document and print the summary on standard error."""
    console = _console.messages()

    def caution(text: str) -> None:
        console.print(f"caution: {text}", style="yellow")

    with counted(f"translating {request.path.name}") as progress:
        summary = translate_document(request, translator, folders, progress=progress, caution=caution)
    show(summary, request.output)


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
    problems = [
        *((place, f"set where the source has it: {name}") for place, name in summary.unplaced),
        *((place, f"without the term for: {name}") for place, name in summary.missing),
        *summary.warnings,
    ]
    for place, what in problems[: _console.MAX_NOTES]:
        console.print(f"{place}: {what}")
    if len(problems) > _console.MAX_NOTES:
        console.print(f"{len(problems) - _console.MAX_NOTES:,} more such notes")
