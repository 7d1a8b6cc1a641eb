"""BLEU by source length (Bahdanau et al. 2015, fig. 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from multihead.errors import UserError
from multihead.scores.bleu import Score, bleu

BOUNDS = (10, 20, 30, 40, 50, 60)


@dataclass(frozen=True, slots=True)
class LengthBucket:
    """BLEU of the sentences with ``shortest`` to ``longest`` source words (``longest`` None: no limit)."""

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
    """Return corpus BLEU of each length bucket, shortest first; empty buckets are omitted.

    Args:
        sources: source sentences; length is counted in white-space tokens.
        hypotheses: translations.
        references: reference translations.
        bounds: maximum length of each bucket but the last, ascending.
        lowercase, tokenize: see ``bleu``.

    Raises:
        UserError: as ``bleu``, and if the number of sources differs.
    """
    if len(sources) != len(references):
        raise UserError(f"{len(sources):,} sources, but {len(references):,} references")
    edges = [0, *(bound + 1 for bound in bounds)]
    lengths = [len(source.split()) for source in sources]
    buckets = []
    for shortest, longest in zip(edges, [*bounds, None], strict=True):
        inside = [i for i, n in enumerate(lengths) if n >= shortest and (longest is None or n <= longest)]
        if inside:
            score = bleu(
                [hypotheses[i] for i in inside],
                [references[i] for i in inside],
                lowercase=lowercase,
                tokenize=tokenize,
            )
            buckets.append(LengthBucket(shortest, longest, len(inside), score))
    return buckets
