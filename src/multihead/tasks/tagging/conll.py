"""Tagged sentences in CoNLL's columns: a word and its tag a line, an empty line after each sentence."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text.lines import read_lines

DOCUMENT = "-DOCSTART-"
"""The word that begins a document in the files of CoNLL-2003; such lines are skipped."""


_NO_WORD = re.compile(r"\d+[-.]\d+")
"""CoNLL-U: the id of a multiword token or of an empty node (universaldependencies.org/format.html)."""


class TaggedSentence(NamedTuple):
    """A sentence: words, a tag for each, and its place (file and first line)."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    place: str


def read_conll(
    path: Path | str, word_column: int = 1, tag_column: int = -1, encoding: str = "utf-8"
) -> Iterator[TaggedSentence]:
    """Yield the sentences of a file.

    Columns are separated by tabs if the first line has one, else by blanks. In a file with tabs, a line that
    begins with "#" and has no tab is a comment. In a file of ten columns (CoNLL-U), multiword tokens (1-2)
    and empty nodes (1.1) are skipped: the words of the former follow, the latter were not written.

    Args:
        path: the file, plain or compressed.
        word_column: column of the words, from 1; negative numbers count from the last column, -1.
        tag_column: column of the tags, likewise.
        encoding: encoding of the file.

    Raises:
        UserError: the file is missing, unreadable or damaged; a line with fewer or more columns than the
            first; a line without word or tag.
    """
    words: list[str] = []
    tags: list[str] = []
    first = columns = 0
    tabs = False
    for number, line in enumerate(read_lines(str(path), encoding), start=1):
        if not line.strip():
            if words:
                yield TaggedSentence(tuple(words), tuple(tags), f"{path}:{first}")
            words, tags = [], []
            continue
        comment = line.startswith("#") and "\t" not in line
        if comment and (tabs or (not columns and not words)):
            continue
        if not columns:
            tabs = "\t" in line
        cells = line.split("\t") if tabs else line.split()
        columns = columns or len(cells)
        if tabs and columns == 10 and _NO_WORD.fullmatch(cells[0]):
            continue
        place = f"{path}:{number}"
        word, tag = _cells(cells, columns, word_column, tag_column, place)
        if word == DOCUMENT:
            continue
        if not words:
            first = number
        words.append(word)
        tags.append(tag)
    if words:
        yield TaggedSentence(tuple(words), tuple(tags), f"{path}:{first}")


def _cells(cells: list[str], columns: int, word_column: int, tag_column: int, place: str) -> tuple[str, str]:
    """Return the word and the tag of a line."""
    if len(cells) != columns:
        fact = f"{len(cells)} columns, but the first line has {columns}"
        remedy = "Write a word and its tags on each line, and an empty line after each sentence."
        raise UserError(fact, place=place, remedy=remedy)
    values = []
    for name, key, column in (("word", "word_column", word_column), ("tag", "tag_column", tag_column)):
        if not column or abs(column) > columns:
            remedy = f"Set data.{key} to a number from 1 to {columns}, or from -1 to -{columns}."
            raise UserError(
                f"there is no column {column}; the line has {columns}", place=place, remedy=remedy
            )
        cell = cells[column - 1 if column > 0 else column].strip()
        if not cell:
            raise UserError(f"no {name}", place=place, remedy="Correct the line, or remove it.")
        values.append(cell)
    return values[0], values[1]
