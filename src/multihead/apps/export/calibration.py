"""Sentences with which an export calibrates its int8 products."""

from collections.abc import Iterator, Sequence
from itertools import islice

from multihead.errors import UserError
from multihead.run import Run
from multihead.text.corpus import read_pairs
from multihead.text.lines import read_lines

MOST = 4096
"""Maximum number of lines; an export samples them evenly."""


def calibration_lines(run: Run, named: Sequence[str] = ()) -> Sequence[str]:
    """Return sentences of a run's source language.

    Args:
        run: a translator.
        named: files of sentences, one a line; empty: the validation data of the run's recipe, or else its
            first training sentences.

    Raises:
        UserError: a file, or the run's data, cannot be read.
    """
    if named:
        return list(islice((line for name in named for line in read_lines(name)), MOST))
    try:
        return list(islice(_known_lines(run), MOST))
    except UserError as error:
        remedy = "Name sentences of the source language: --calibrate FILE."
        raise UserError(f"its data is not here ({error})", place=str(run.folder), remedy=remedy) from None


def _known_lines(run: Run) -> Iterator[str]:
    data = run.recipe.data
    sides = (data.valid_source, data.valid_target) if data.valid_source else (data.source, data.target)
    if not sides[0]:
        raise UserError("the recipe names no files of sentences")
    for source, _ in read_pairs(data, *sides):
        yield source
