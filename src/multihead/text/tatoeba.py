"""Tatoeba's sentences.csv (id, language, text) and links.csv (two ids): the pairs of two languages."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from multihead.errors import UserError
from multihead.text.languages import primary
from multihead.text.lines import read_lines

_SENTENCE = re.compile(r"\d+\t([a-z]{3,4}|\\N)\t.+")
_LINK = re.compile(r"\d+\t\d+")
_CHECKED = 20
"""First lines by which such files are recognised."""


def is_sentences(lines: Sequence[str]) -> bool:
    """Return whether lines are the first of a file of sentences."""
    return bool(lines) and all(map(_SENTENCE.fullmatch, lines[:_CHECKED]))


def are_tatoeba(paths: Sequence[str], encoding: str) -> bool:
    """Return whether files are one of links, and one or more of sentences."""
    heads = [list(islice(read_lines(path, encoding), _CHECKED)) for path in paths]
    sentences = sum(map(is_sentences, heads))
    return sentences > 0 and sentences + sum(map(_are_links, heads)) == len(heads) == sentences + 1


def _are_links(lines: Sequence[str]) -> bool:
    return bool(lines) and all(map(_LINK.fullmatch, lines))


def read_linked(paths: Sequence[str], source: str, target: str, encoding: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two languages. The sentences of both are held in memory.

    Links to sentences that are missing, or in other languages, are skipped.

    Args:
        paths: the files of sentences, and that of links, in any order.
        source: code of the source's language.
        target: code of the target's language.
        encoding: encoding of the files.

    Raises:
        UserError: a language is not named; no pair of these languages; a malformed line.
    """
    if not source or not target:
        remedy = "Name two: --source-language deu --target-language eng."
        raise UserError("the two languages are not named", place=paths[0], remedy=remedy)
    language_of = cache(primary)
    texts: tuple[dict[int, str], dict[int, str]] = ({}, {})
    links = ""
    for path in paths:
        if _are_links(list(islice(read_lines(path, encoding), _CHECKED))):
            links = path
            continue
        for number, line in enumerate(read_lines(path, encoding), start=1):
            cells = line.split("\t")
            if len(cells) < 3 or not cells[0].isdecimal():
                fact = "not an id, a language and a text between tabs"
                raise UserError(fact, place=f"{path}:{number}", remedy="Correct the line, or remove it.")
            for side, code in zip(texts, (source, target), strict=True):
                if cells[1] == code or language_of(cells[1]) == language_of(code):
                    side[int(cells[0])] = cells[2]
    pairs = set[tuple[int, int]]()  # most links are in both directions
    for number, line in enumerate(read_lines(links, encoding), start=1):
        if not _LINK.fullmatch(line):
            raise UserError(
                "not two ids", place=f"{links}:{number}", remedy="Correct the line, or remove it."
            )
        first, second = map(int, line.split("\t"))
        for pair in ((first, second), (second, first)):
            if pair[0] in texts[0] and pair[1] in texts[1] and pair not in pairs:
                pairs.add(pair)
                yield texts[0][pair[0]], texts[1][pair[1]]
    if pairs:
        return
    fact = f"no link between sentences of {source} ({len(texts[0]):,}) and {target} ({len(texts[1]):,})"
    raise UserError(fact, place=links, remedy="Name two languages of the sentences, as deu and eng.")
