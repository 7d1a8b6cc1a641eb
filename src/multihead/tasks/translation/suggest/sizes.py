"""Sizes of model, optimiser and batch that suit a corpus.

The sizes follow what works on public corpora of each order of magnitude: the smaller the corpus, the
smaller the vocabulary and the model, and the more dropout (Sennrich and Zhang 2019; Araabi and Monz 2020).
Up to 80,000 pairs Muon gave better models than Adam; for the next size its first 600 updates were far ahead
(docs/measured/quality.md); larger sizes were not measured.
"""

from multihead.tasks.translation.suggest.by_size import SIZES, Size, model_settings
from multihead.tasks.translation.suggest.decision import Decision
from multihead.tasks.translation.suggest.profile import CorpusProfile, SideProfile

STABLE_RATE = 0.6
"""The constant rate of schedule wsd, as a fraction of the cosine schedule's peak."""

CHARACTERS_A_PIECE, UNSPACED_CHARACTERS_A_PIECE = 4.0, 1.5
"""Of alphabetic scripts, and of those without spaces, at these vocabulary sizes: for estimates."""

SENTENCE = 16.0
"""Target tokens of a pair of sentences, its end token included. Shorter pairs count as less than one."""

SMALL_BATCHES = ((20_000, 1024), (80_000, 2048), (float("inf"), 4096))
"""Batch sizes by the tokens of an epoch, up to each: a batch is at most a twentieth of an epoch or so."""

UNEQUAL = 1.5
"""Source tokens for each target token from which on a batch, which counts the longer side, counts those."""

LESS_DROPOUT = 0.1
"""Symbols and characters need so much less dropout than words: each occurs often, whatever the corpus."""


def tokens(side: SideProfile, kind: str) -> float:
    """Estimate the tokens of one side, end tokens included."""
    if kind in ("spaced", "words"):
        return side.lines + side.words
    if kind == "chars":
        return 2 * side.lines + side.total_characters
    a_piece = UNSPACED_CHARACTERS_A_PIECE if side.unspaced else CHARACTERS_A_PIECE
    return side.lines + side.total_characters / a_piece


def size(corpus: CorpusProfile, kinds: tuple[str, str]) -> Decision[Size]:
    """Decide the row of ``SIZES``: by pairs, of which short ones count as less."""
    amount = min(float(corpus.pairs), tokens(corpus.target, kinds[1]) / SENTENCE)
    row = next(row for row in SIZES if amount <= row.pairs)
    return Decision(row, f"{corpus.pairs:,} pairs, of the length of {amount:,.0f} sentences")


def batch_tokens(corpus: CorpusProfile, kinds: tuple[str, str]) -> Decision[int]:
    """Decide the size of a batch."""
    counted, side = epoch_tokens(corpus, kinds)
    batch = next(batch for most, batch in SMALL_BATCHES if counted <= most)
    return Decision(batch, f"an epoch has about {counted:,.0f} {side} tokens")


def epoch_tokens(corpus: CorpusProfile, kinds: tuple[str, str]) -> tuple[float, str]:
    """Estimate the tokens of an epoch by which its batches are counted, and name their side."""
    source, target = tokens(corpus.source, kinds[0]), tokens(corpus.target, kinds[1])
    return (source, "source") if source > UNEQUAL * target else (target, "target")


def model(row: Size, kind: str, kinds: tuple[str, str], *, joint: bool) -> dict[str, object]:
    """Return the settings of a model of this kind with about as many parameters as the Transformer has."""
    dropout = round(row.dropout - (LESS_DROPOUT if kinds[1] in ("spaced", "chars") else 0), 2)
    tied = {} if joint else {"tied": "decoder"}
    if kind == "transformer":
        heads = {"num_layers": row.num_layers, "num_heads": row.num_heads}
        widths = {"d_model": row.d_model, "d_ff": row.d_ff}
        return {**widths, **heads, "dropout": dropout, "norm": "pre", **tied}
    return {**(own := model_settings(kind, row.d_model, row.num_layers, dropout)), **(tied if own else {})}
