"""Corpus files: existence checks, spooling of standard input, and content hashes."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from multihead.data.added import Added
from multihead.data.catalogue import remedy_for_missing
from multihead.data.hashes import file_sha256
from multihead.data.pairs import errors_with_names, read_pairs
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system.addresses import locate_file
from multihead.text.corpus import check_sides, corpus_files, is_document, read_lines
from multihead.text.lines import STDIN, file_kind

FILE_KEYS = ("source", "target", "valid_source", "valid_target")


@contextmanager
def rereadable(data: DataSettings) -> Iterator[DataSettings]:
    """Check that all files exist; give settings with full paths, standard input spooled to a file.

    Standard input can be read only once, but preparation reads a corpus several times.

    Raises:
        UserError: no file is named, a file is missing, a directory or unreadable, or standard input is named
            twice.
    """
    if not data.source:
        remedy = "Set data.source and data.target, or give --src and --tgt."
        raise UserError("no training files are named", place="data", remedy=remedy)
    if data.valid_target and not data.valid_source:
        remedy = "Name the source side too: data.valid_source."
        raise UserError("validation target without source", place="data.valid_target", remedy=remedy)
    data = data.model_copy(update=_expand(data))
    names = [name for key in FILE_KEYS for name in getattr(data, key)]
    if names.count(STDIN) > 1:
        raise UserError("standard input is named twice", place="data", remedy="It can be read only once.")
    for name in [name for name in names if name != STDIN]:
        path = locate_file(data.dir, name)
        if not path.exists():
            raise UserError("no such file", place=str(path), remedy=remedy_for_missing(path))
        if not is_document(data, name):
            next(read_lines(str(path), data.encoding), None)  # raises if it cannot be read
    with tempfile.TemporaryDirectory(prefix="multihead.") as folder:
        spooled = Path(folder) / "standard input"
        if STDIN in names:
            with spooled.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        paths = {
            key: tuple(
                str(spooled if name == STDIN else locate_file(data.dir, name)) for name in getattr(data, key)
            )
            for key in FILE_KEYS
        }
        try:
            with errors_with_names(data.dir, names):
                located = data.model_copy(update={"dir": "", **paths})
                _check_validation(located)
                yield located
        except UserError as error:
            place = error.place and error.place.replace(str(spooled), "standard input")
            raise UserError(error.fact, place=place, remedy=error.remedy) from error


def _check_validation(data: DataSettings) -> None:
    """Refuse validation files that cannot be used, before a tokenizer is trained."""
    pairs = read_pairs(data, data.valid_source, data.valid_target)
    if data.valid_source and not sum(bool(source.strip() and target.strip()) for source, target in pairs):
        remedy = "Name other files, or none: a part of the training pairs is held out then."
        raise UserError(
            "no validation pair has text on both sides", place=data.valid_source[0], remedy=remedy
        )


def _expand(data: DataSettings) -> dict[str, tuple[str, ...]]:
    """Return the files of folders and archives in their place."""
    source, target = corpus_files(data, data.source, data.target).train
    valid_source, valid_target = corpus_files(data, data.valid_source, data.valid_target).train
    return {
        key: tuple(names)
        for key, names in zip(FILE_KEYS, (source, target, valid_source, valid_target), strict=True)
    }


def check_added(added: Added) -> None:
    """Refuse added pairs whose files are missing or unreadable."""
    files = added.files
    if added.kind != "copied":
        check_sides(files, files.source, files.target)
    for name in (*files.source, *files.target):
        if not Path(name).exists():
            raise UserError("no such file", place=name, remedy=remedy_for_missing(Path(name)))
    next(added.pairs(), None)  # raises if it cannot be read


def file_hashes(data: DataSettings) -> dict[str, list[tuple[str, str]]]:
    """Return the extension and the SHA-256 of each file, by the setting that names it."""
    return {key: [(file_kind(path), file_sha256(path)) for path in getattr(data, key)] for key in FILE_KEYS}
