"""What every score asks of its input."""

from collections.abc import Sequence

from multihead.errors import UserError


def check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise ``UserError`` unless there are sentences, and one reference for each."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses):,} translations, but {len(references):,} references",
            remedy="Compare files that belong together line by line.",
        )
    if not hypotheses:
        raise UserError("there are no sentences to score", remedy="Is the file empty?")
