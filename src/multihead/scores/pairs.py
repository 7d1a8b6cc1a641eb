"""Input check shared by all metrics."""

from collections.abc import Sequence

from multihead.errors import UserError


def check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise ``UserError`` unless there are sentences, each with one reference."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses):,} translations, but {len(references):,} references",
            remedy="Compare files that are aligned line by line.",
        )
    if not hypotheses:
        raise UserError("no sentences to score", remedy="Is the file empty?")
