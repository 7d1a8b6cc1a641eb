"""Plan of translating several documents and folders: documents and their outputs."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from multihead.apps.documents.translating_documents import default_output
from multihead.data.documents.library import BY_ENDING
from multihead.errors import UserError


@dataclass
class FolderTranslationPlan:
    """Documents and their outputs.

    Attributes:
        documents: (document, output).
        root: the folder of the outputs; None if each stands beside its document.
        others: number of files by ending that are not documents; they are left alone.
    """

    documents: list[tuple[Path, Path]] = field(default_factory=list)
    root: Path | None = None
    others: Counter[str] = field(default_factory=Counter)


SELDOM = frozenset(ending for ending, format in BY_ENDING.items() if format.seldom)
"""Extensions used more often for settings, programs and data than for texts."""


def plan_translations(
    names: Sequence[Path], output: Path | None, language: str, *, only: Sequence[str] = ()
) -> FolderTranslationPlan:
    """Plan the translation of documents and folders.

    In folders, hidden files and folders and symbolic links are left out.

    Args:
        names: documents and folders.
        output: the translation of a single folder, else a folder for all; None: named after the language.
        language: the target language.
        only: patterns of the names to translate in folders; by default all documents except ``SELDOM``.

    Raises:
        UserError: no document; two with the same output; an output that would replace a document.
    """
    folders = [name for name in names if name.is_dir()]
    if folders and output is None and len(names) > 1:
        remedy = "Name a folder for all of them: -o FOLDER."
        raise UserError("several documents and folders were given", place=str(folders[0]), remedy=remedy)
    if folders and output is None:
        output = _default_folder(folders[0], language)
    plan = FolderTranslationPlan(root=output)
    if output is not None:
        _refuse_root(output, names)
    for name in names:
        if name.is_dir():
            base = output if len(names) == 1 else output and output / name.resolve().name
            assert base is not None, "a folder has an output"
            _add_folder(plan, name, base, only)
        else:
            plan.documents.append((name, output / name.name if output else default_output(name, language)))
    if not plan.documents:
        remedy = f"Documents end in {', '.join(BY_ENDING)}."
        raise UserError("no document in it", place=str(names[0]), remedy=remedy)
    count, twice = Counter(output for _, output in plan.documents).most_common(1)[0][::-1]
    if count > 1:
        remedy = "Rename one, or translate them one by one."
        raise UserError(f"{count} documents would be written to it", place=str(twice), remedy=remedy)
    return plan


def _default_folder(folder: Path, language: str) -> Path:
    """Return the name of a folder's translation: ``manual`` becomes ``manual.de``, ``v1.2`` ``v1.2.de``."""
    named = default_output(Path("folder"), language)  # checks that the language is known
    whole = folder if folder.name not in ("", "..") else folder.resolve()
    return whole.with_name(f"{whole.name}{named.suffix}")


def _refuse_root(output: Path, names: Sequence[Path]) -> None:
    if output.exists() and not output.is_dir():
        remedy = "Name a folder: there are several documents."
        raise UserError("a file", place=str(output), remedy=remedy)
    if not output.parent.is_dir():
        raise UserError("no such folder", place=str(output.parent), remedy="Make it first.")
    for name in names:
        if output.exists() and (output.samefile(name) or output.samefile(name.parent)):
            remedy = "Name another folder."
            raise UserError("the output would overwrite the documents", place=str(output), remedy=remedy)


def _add_folder(plan: FolderTranslationPlan, folder: Path, output: Path, only: Sequence[str]) -> None:
    skipped = output.resolve()
    for place, inside, files in os.walk(folder):
        inside[:] = sorted(sub for sub in inside if sub[0] != "." and Path(place, sub).resolve() != skipped)
        for name in sorted(files):
            path = Path(place, name)
            if name[0] == "." or path.is_symlink():
                continue
            ending = path.suffix.lower()
            selected = any(fnmatch(name, pattern) for pattern in only) if only else ending not in SELDOM
            if selected and ending in BY_ENDING:
                plan.documents.append((path, output / path.relative_to(folder)))
            else:
                plan.others[ending or name] += 1
