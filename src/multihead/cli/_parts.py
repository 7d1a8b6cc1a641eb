"""``multihead translate --part`` and ``--join``: a large file in parts."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from multihead import run
from multihead.apps.documents.translating_parts import SharedTranslation
from multihead.cli import _console
from multihead.cli._effect import refuse_options
from multihead.cli._writing import write_bytes
from multihead.data.hashes import file_sha256
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.run.names import WEIGHTS
from multihead.run.search_record import SearchRecord
from multihead.system import native_library
from multihead.system.part import parse_part
from multihead.tasks.translation.lines.loading import device_type
from multihead.tasks.translation.lines.translation import Translation

TranslateLines = Callable[[Sequence[str], Sequence[str], int], list[Translation]]
"""(lines, forced beginnings, number of the first line) -> translations."""
Spell = Callable[[int, Translation], Iterator[str]]
"""(number of the line from 1, its translation) -> output lines."""


PartOptions = Any
"""The options of ``multihead translate``, which imports this module."""


def open_parts(options: PartOptions, search: SearchSettings) -> SharedTranslation:
    """Return the parts that the options name.

    Raises:
        UserError: options are missing or have no effect; the folder holds another translation.
    """
    option = "--part" if options.part else "--engine" if options.engine else "--join"
    refuse_options(options, ("prefixes",), f"with {option}")
    if options.part and options.engine:
        raise UserError("--part and --engine at once", remedy="--engine ray translates all parts.")
    if options.part and options.join:
        raise UserError("--part and --join at once", remedy="Join when all parts are translated.")
    if options.part:
        parse_part(options.part)
    if not options.input or options.input == "-":
        raise UserError(f"{option} needs an input file", remedy="Name it: -i FILE.")
    if not options.output or options.output == "-":
        raise UserError(f"{option} needs a folder for the blocks", remedy="Name it: -o DIR.")
    if Path(options.output).is_file():
        raise UserError(f"with {option}, -o names a folder", place=options.output, remedy="Name a new one.")
    return SharedTranslation(
        Path(options.output), Path(options.input), options.encoding, _facts(options, search)
    )


def _facts(options: PartOptions, search: SearchSettings) -> dict[str, Any]:
    """Return all that decides the translation, by the name that an error gives it."""
    for folder in options.runs:
        if SearchRecord.read(folder) is None and not run.Run.open(folder).has_model:
            fact, remedy = "this training is not finished: its model still changes", "Finish it first."
            raise UserError(fact, place=str(folder), remedy=remedy)
    direction = [options.of, options.to, *options.tags]
    return {
        "model": [file_sha256(Path(folder) / WEIGHTS)[:16] for folder in options.runs],
        "search": search.model_dump(mode="json"),
        "direction": direction,
        "prefix": options.prefix or "",
        "scores": options.scores,
        "lines": options.lines,
        "glossary": file_sha256(Path(options.glossary))[:16] if options.glossary else "",
        "precision": options.precision,
        "device": device_type(*options.runs, device=options.device),
        "processor level": native_library.level() or "none",
    }


def translate_part(
    options: PartOptions, parts: SharedTranslation, translate_lines: TranslateLines, spell: Spell, chunk: int
) -> None:
    """Translate the blocks of ``--part``.

    Args:
        options: the command's options.
        parts: from :func:`open_parts`.
        translate_lines: translates a chunk of lines.
        spell: returns the output lines of one line.
        chunk: lines translated together, as in a plain run.
    """
    console = _console.messages()
    notes = itertools.count()

    def translate(lines: list[str], first: int) -> list[str]:
        output: list[str] = []
        for start in range(0, len(lines), chunk):
            some = lines[start : start + chunk]
            translations = translate_lines(some, [options.prefix or ""] * len(some), first + start)
            for number, translation in enumerate(translations, start=first + start + 1):
                if translation.note and next(notes) < _console.MAX_NOTES:
                    console.print(f"line {number:,}: {translation.note}")
                output += spell(number, translation)
        return output

    i, n = parse_part(options.part or "")
    parts.part(i, n, translate, lambda number, total: console.print(f"block {number:,} of part {i}/{n}"))


def join_parts(options: PartOptions, parts: SharedTranslation) -> None:
    """Write the whole translation to the file that ``--join`` names."""
    write_bytes(parts.join(), options.join)
