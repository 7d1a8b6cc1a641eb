"""BLEU by the length of the source (Bahdanau et al. 2015, fig. 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from multihead.errors import UserError
from multihead.scores.bleu import Score, bleu

BOUNDS = (10, 20, 30, 40, 50, 60)


@dataclass(frozen=True, slots=True)
class LengthBucket:
    """Sentences whose source has ``shortest`` to ``longest`` words (``longest`` None: or more)."""

    shortest: int
    longest: int | None
    sentences: int
    bleu: Score


def by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    bounds: Sequence[int] = BOUNDS,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[LengthBucket]:
    """Corpus BLEU of the sentences in each bucket, short ones first; buckets without a sentence are left out.

    Args:
        sources: a sentence each; its length is the number of words between spaces.
        hypotheses: translations.
        references: what they should be.
        bounds: the longest length of each bucket but the last, ascending.
        lowercase: see ``bleu``.
        tokenize: see ``bleu``.

    Raises:
        UserError: as ``bleu``, and if there are not as many sources.
    """
    if len(sources) != len(references):
        raise UserError(f"{len(sources):,} sources, but {len(references):,} references")
    edges = [0, *(bound + 1 for bound in bounds)]
    lengths = [len(source.split()) for source in sources]
    found = []
    for shortest, longest in zip(edges, [*bounds, None], strict=True):
        inside = [i for i, n in enumerate(lengths) if n >= shortest and (longest is None or n <= longest)]
        if inside:
            score = bleu(
                [hypotheses[i] for i in inside],
                [references[i] for i in inside],
                lowercase=lowercase,
                tokenize=tokenize,
            )
            found.append(LengthBucket(shortest, longest, len(inside), score))
    return found
