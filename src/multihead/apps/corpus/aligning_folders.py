"""Documents in one folder, and their translations in another."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multihead.data.documents.library import BY_ENDING, languages_match
from multihead.errors import UserError
from multihead.text.languages import is_language


@dataclass
class FolderAlignmentPlan:
    """Documents and their translations.

    Attributes:
        documents: (document, translation).
        alone: documents without a translation.
        others: number of other files by ending: not documents, or bilingual.
    """

    documents: list[tuple[Path, Path]] = field(default_factory=list)
    alone: list[Path] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)


def plan_alignments(source: Path, target: Path, language: str | None = None) -> FolderAlignmentPlan:
    """Plan the alignment of two documents, or of two folders.

    In folders a document's translation has the same relative path, except for a language before its ending
    (``a.md`` and ``a.en.md``). Hidden files and folders are left out.

    Args:
        source: the document or folder.
        target: its translation.
        language: the translations' language, which decides if a document has several.

    Raises:
        UserError: a document has several translations, and no language decides; a path is missing; both are
            the same; only one is a folder.
    """
    for path in (source, target):
        if not path.exists():
            raise UserError("no such file or folder", place=str(path), remedy="Check the path.")
    if source.samefile(target):
        raise UserError("a document and its translation are the same", place=str(source), remedy="Name both.")
    if source.is_dir() != target.is_dir():
        remedy = "Name two documents, or two folders."
        raise UserError("one is a folder, the other a document", place=f"{source}, {target}", remedy=remedy)
    if not source.is_dir():
        return FolderAlignmentPlan([(source, target)])
    translations: dict[tuple[str, ...], list[Path]] = defaultdict(list)
    for path in _files(target):
        if path.suffix.lower() in BY_ENDING:
            translations[_name(path, target)].append(path)
    plan = FolderAlignmentPlan()
    for path in _files(source):
        if target.resolve() in path.resolve().parents:
            continue  # the translation lies in the folder
        format = BY_ENDING.get(path.suffix.lower())
        if format is None or format.bilingual or format.is_table:
            plan.others[path.suffix.lower() or path.name] += 1
        elif candidates := translations.get(_name(path, source)):
            plan.documents.append((path, _choose(candidates, target / path.relative_to(source), language)))
        else:
            plan.alone.append(path)
    return plan


def _choose(candidates: Sequence[Path], same_name: Path, language: str | None) -> Path:
    """Return the translation in a language, with the document's own name, or the only candidate."""
    fitting = [path for path in candidates if language and languages_match(language, language_of(path) or "")]
    choice = fitting or [path for path in candidates if path == same_name] or list(candidates)
    if len(choice) > 1:
        names = ", ".join(str(path) for path in choice[:5])
        raise UserError("several translations of one document", place=names, remedy="Name --target-language.")
    return choice[0]


def language_of(path: Path) -> str | None:
    """Return the language at the end of a file's or folder's name: ``letter.en.docx``, ``manual.en``."""
    code = Path(path.stem).suffix or (path.suffix if path.suffix.lower() not in BY_ENDING else "")
    code = code.removeprefix(".")
    return code if code and len(code) <= 10 and is_language(code) else None


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden and not path.is_symlink():
            yield path


def _name(path: Path, folder: Path) -> tuple[str, ...]:
    place = path.relative_to(folder)
    name = place.name
    if path.suffix.lower() in BY_ENDING and language_of(path):
        name = Path(place.stem).stem + place.suffix
    return (*place.parent.parts, name)
