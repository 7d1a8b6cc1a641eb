"""Sizes of model, optimiser and batch that suit a corpus.

The sizes follow what works on public corpora of each order of magnitude: the smaller the corpus, the
smaller the vocabulary and the model, and the more dropout (Sennrich and Zhang 2019; Araabi and Monz 2020).
Up to 80,000 pairs Muon gave better models than Adam; for the next size its first 600 updates were far ahead
(docs/measured/quality.md); larger sizes were not measured.
"""

from dataclasses import dataclass
from typing import Literal

from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.tasks.translation.suggest.decision import Decision
from multihead.tasks.translation.suggest.profile import CorpusProfile, SideProfile


@dataclass(frozen=True, slots=True)
class Size:
    """Settings for corpora of up to so many sentences of ``SENTENCE`` target tokens."""

    sentences: float
    vocab_size: int
    bpe_dropout: float
    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int
    dropout: float
    optimizer: Literal["adam", "muon"]
    learning_rate: float
    """Learning rate of Adam."""
    epochs: int


SIZES = (
    Size(10_000, 2_000, 0.1, 128, 256, 3, 4, 0.3, "muon", 3e-3, 80),
    Size(40_000, 6_000, 0.1, 128, 256, 4, 4, 0.2, "muon", 4e-3, 60),
    Size(150_000, 8_000, 0.1, 256, 512, 3, 4, 0.2, "muon", 2e-3, 40),
    Size(400_000, 8_000, 0.1, 256, 1024, 4, 4, 0.2, "muon", 2e-3, 25),
    Size(3_000_000, 16_000, 0.0, 512, 1024, 6, 8, 0.1, "adam", 1e-3, 12),
    Size(float("inf"), 32_000, 0.0, 512, 2048, 6, 8, 0.1, "adam", 1e-3, 8),
)

MUON_RATE_FACTOR = 2.0
"""Learning rate of Muon relative to that of Adam."""

OTHER_MODELS_RATE_FACTOR = 0.5
"""Learning rate of the models before the Transformer, relative to that of the Transformer."""

STABLE_RATE = 0.6
"""The constant rate of schedule wsd, as a fraction of the cosine schedule's peak."""

CHARACTERS_A_PIECE, UNSPACED_CHARACTERS_A_PIECE = 4.0, 1.5
"""Of alphabetic scripts, and of those without spaces, at these vocabulary sizes: for estimates."""

SENTENCE = 16.0
"""Target tokens of a sentence, its end token included. A paragraph counts as several, a name as less."""

SMALL_BATCHES = ((20_000, 1024), (80_000, 2048), (float("inf"), 4096))
"""Batch sizes by the tokens of an epoch, up to each: a batch is at most a twentieth of an epoch or so."""

UNEQUAL = 1.5
"""Source tokens for each target token from which on a batch, which counts the longer side, counts those."""

LESS_DROPOUT = 0.1
"""Symbols, characters and formal languages need so much less dropout than prose: each symbol occurs often."""


def tokens(side: SideProfile, kind: str) -> float:
    """Estimate the tokens of one side, end tokens included."""
    if kind in ("spaced", "words"):
        return side.lines + side.words
    if kind == "chars":
        return 2 * side.lines + side.total_characters
    a_piece = UNSPACED_CHARACTERS_A_PIECE if side.unspaced else CHARACTERS_A_PIECE
    return side.lines + side.total_characters / a_piece


def size(corpus: CorpusProfile, kinds: tuple[str, str]) -> Decision[Size]:
    """Decide the row of ``SIZES`` by the target tokens, counted as sentences."""
    amount = tokens(corpus.target, kinds[1]) / SENTENCE
    row = next(row for row in SIZES if amount <= row.sentences)
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


def model(
    row: Size, kind: str, kinds: tuple[str, str], *, joint: bool, formal: bool = False
) -> dict[str, object]:
    """Return the settings of a model of this kind with about as many parameters as the Transformer has."""
    less = LESS_DROPOUT if formal or kinds[1] in ("spaced", "chars") else 0
    dropout = round(row.dropout - less, 2)
    tied = {} if joint else {"tied": "decoder"}
    if kind == "transformer":
        heads = {"num_layers": row.num_layers, "num_heads": row.num_heads}
        widths = {"d_model": row.d_model, "d_ff": row.d_ff}
        return {**widths, **heads, "dropout": dropout, "norm": "pre", **tied}
    return {
        **(settings := model_settings(kind, row.d_model, row.num_layers, dropout)),
        **(tied if settings else {}),
    }


def model_settings(kind: str, width: int, num_layers: int, dropout: float) -> dict[str, object]:
    """Return the settings of a model other than the Transformer; {} for an unknown kind.

    Widths relative to the Transformer's are those of the Multi30k recipes (`multihead sweep ladder`), where
    every model has 2.1 M parameters.

    Args:
        kind: model kind.
        width: ``d_model`` of the Transformer.
        num_layers: number of layers of the Transformer.
        dropout: dropout of the Transformer.
    """
    common = {"d_embedding": width, "tied": "all", "label_smoothing": 0.1}
    recurrent = {**common, "dropout": dropout + 0.1}
    match kind:
        case "seq2seq":
            return {**recurrent, "d_hidden": 13 * width // 8, "num_layers": 2}
        case "rnn_attention":
            return {**recurrent, "d_hidden": 2 * width, "d_encoder": 3 * width // 2}
        case "conv_s2s":
            return {**common, "dropout": dropout, "d_hidden": width, "num_layers": num_layers + 1}
        case _:
            return {}


def learning_rate(row: Size, optimizer: str, kind: str) -> float:
    """Return the peak learning rate of a cosine schedule for a kind of model."""
    rate = row.learning_rate * (MUON_RATE_FACTOR if optimizer == "muon" else 1)
    return rate * (1 if kind == "transformer" else OTHER_MODELS_RATE_FACTOR)


# --- models of one's own: sized as the built-in model whose settings they are or extend -----------------


def sized_as(recipe: Recipe[Settings]) -> str:
    """Return the kind of model whose sizes suit a recipe's model: that of the settings that it shares."""
    base = _base(recipe)
    return base.__module__.rpartition(".")[2] if base else recipe.kind


def own_defaults(recipe: Recipe[Settings]) -> set[str]:
    """Return the settings, by dotted key, to which a model of one's own gives other defaults."""
    base = _base(recipe)
    if base is None:
        return set()
    return {
        f"model.{key}"
        for key, field in base.model_fields.items()
        if type(recipe.model).model_fields[key].default != field.default
    }


def _base(recipe: Recipe[Settings]) -> type[Settings] | None:
    """Return the settings of a built-in model among those that the recipe's model inherits."""
    prefix = f"{model_kinds.GROUP}."
    return next((one for one in type(recipe.model).__mro__ if one.__module__.startswith(prefix)), None)
