"""Several documents, and folders of them: which are translated to where, and which are finished already."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from multihead import disk
from multihead.documents import KINDS, TABLES
from multihead.errors import UserError
from multihead.workflows.document_journal import Journal
from multihead.workflows.translating_documents import default_output


@dataclass
class Plan:
    """Documents and their outputs.

    Attributes:
        documents: (document, output).
        root: the folder of the outputs; None if each stands beside its document.
        others: number of files by ending that are no documents, and stay where they are.
    """

    documents: list[tuple[Path, Path]] = field(default_factory=list)
    root: Path | None = None
    others: Counter[str] = field(default_factory=Counter)


RECORD = ".multihead-translated.jsonl"
"""File of a folder of translations that says what was translated into it."""
SELDOM = frozenset((".json", ".yml", ".yaml", ".xml", ".ts", ".properties", *TABLES))
"""Extensions that settings, programs and values have more often than texts."""


def planned(names: Sequence[Path], output: Path | None, language: str, *, only: Sequence[str] = ()) -> Plan:
    """Plan the translation of documents and folders.

    In folders, hidden files and folders and symbolic links are left out.

    Args:
        names: documents and folders.
        output: of one folder its translation, else the folder for all; None: named after the language.
        language: the target language.
        only: patterns of the names to translate in folders; by default all documents but the ``SELDOM`` ones.

    Raises:
        UserError: no document; two with one output; an output that would replace a document.
    """
    folders = [name for name in names if name.is_dir()]
    if folders and output is None and len(names) > 1:
        remedy = "Name a folder for all of them: -o FOLDER."
        raise UserError("several documents and folders were given", place=str(folders[0]), remedy=remedy)
    if folders and output is None:
        output = _default_folder(folders[0], language)
    plan = Plan(root=output)
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
        remedy = f"Documents end in {', '.join(KINDS)}."
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


def _add_folder(plan: Plan, folder: Path, output: Path, only: Sequence[str]) -> None:
    skipped = output.resolve()
    for place, inside, files in os.walk(folder):
        inside[:] = sorted(one for one in inside if one[0] != "." and Path(place, one).resolve() != skipped)
        for name in sorted(files):
            path = Path(place, name)
            if name[0] == "." or path.is_symlink():
                continue
            ending = path.suffix.lower()
            wanted = any(fnmatch(name, one) for one in only) if only else ending not in SELDOM
            if wanted and ending in KINDS:
                plan.documents.append((path, output / path.relative_to(folder)))
            else:
                plan.others[ending or name] += 1


State = Literal["new", "finished", "changed"]
"""Of a document's output: to be translated; translated with the same model and settings, and as it was then;
changed since, or not by this command."""


class Finished:
    """Record of what was translated into a folder, kept in it, so that no correction is overwritten."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        records = journal.records if journal else []
        self._records = {str(one.get("output")): (one.get("key"), one.get("sha256")) for one in records}

    def state(self, output: Path, key: str) -> State:
        """Return what to do with a document, by its output and what its translation depends on."""
        if not (self._journal and output.is_file()):
            return "new"
        before, content = self._records.get(self._name(output), (None, None))
        with suppress(OSError):  # what cannot be read is not ours to replace
            if content == disk.sha256(output):
                return "finished" if before == key else "new"
        return "changed"

    def add(self, output: Path, key: str) -> None:
        """Take note of a finished document."""
        if self._journal:
            record = {"output": self._name(output), "key": key, "sha256": disk.sha256(output)}
            self._journal.add([record])

    def _name(self, output: Path) -> str:
        assert self._journal, "documents side by side have no folder"
        return output.relative_to(self._journal.path.parent).as_posix()


@contextmanager
def finished(root: Path | None) -> Iterator[Finished]:
    """Yield what was translated into a folder of outputs, which is made.

    Raises:
        UserError: another command is translating into it; it cannot be written.
    """
    if root is None:
        yield Finished(None)
        return
    try:
        root.mkdir(exist_ok=True)
    except OSError as error:
        fact = f"cannot be made ({error.strerror or error})"
        raise UserError(fact, place=str(root), remedy="Name another folder.") from None
    with Journal(root, "documents", root / RECORD) as journal:
        yield Finished(journal)
