"""Alignment of target rows to source columns from recorded attention (Bahdanau et al. 2015, fig. 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multihead.errors import UserError
from multihead.inspect.maps.records import AttentionRecord
from multihead.inspect.maps.tokens import Sentence, TokenLabel

Floats = NDArray[np.float32]
CAUTION = "Attention shows where the model attended, not why it produced this output."


@dataclass(frozen=True, slots=True)
class AlignmentHead:
    """Layer and head that an alignment is computed from.

    Attributes:
        layer: layer, from 1; None: the most informative layer, see :func:`most_informative`.
        head: head, from 1; None: all heads combined.
        combine: how heads are combined: by their mean or their maximum.
        all_layers: use the mean of all layers, each weighted by its squared :func:`mutual_information`.
    """

    layer: int | None = None
    head: int | None = None
    combine: Literal["mean", "max"] = "mean"
    all_layers: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """Attention weight of each target token on each source token.

    Attributes:
        matrix_TS: weights; each row sums to 1, or to 0 if all its weight was on dropped tokens.
        target: output tokens, one per row; a row's query predicted its token.
        source: source tokens, one per column.
        caption: how the matrix was computed, as a sentence.
        rows: label of the row axis.
        columns: label of the column axis.
        allowed_TS: True = the row may attend to the column; None: every row may attend to every column.
    """

    matrix_TS: Floats
    target: tuple[TokenLabel, ...]
    source: tuple[TokenLabel, ...]
    caption: str
    rows: str = "output token (query)"
    columns: str = "source token (key)"
    allowed_TS: NDArray[np.bool_] | None = None


def grid_alignment(weights_rc: Floats, caption: str) -> Alignment:
    """Return weights over the rows and columns of an image, scaled to a maximum of 1."""
    rows, columns = (tuple(TokenLabel(str(i + 1), i) for i in range(count)) for count in weights_rc.shape)
    return Alignment(weights_rc / weights_rc.max(), rows, columns, caption, rows="row", columns="column")


def align(
    records: Sequence[AttentionRecord],
    source: Sentence,
    target: Sentence,
    *,
    index: int = 0,
    choice: AlignmentHead = AlignmentHead(),
    words: bool = False,
    specials: bool = False,
) -> Alignment:
    """Return the alignment of one sentence.

    Args:
        records: attention of a batch, from ``record``.
        source: the source tokens, including the end symbol.
        target: the output tokens (``target_out``), including the end symbol.
        index: position of the sentence in the batch.
        choice: layer and head.
        words: merge subwords into words: sum over a word's keys, mean over its queries.
        specials: keep special symbols; otherwise they are dropped and the rows renormalised.

    Raises:
        UserError: the model has no cross-attention, or no such layer or head.
    """
    cross = [record for record in records if record.kind == "cross"]
    if not cross:
        raise UserError(
            "this model has no attention over the source",
            remedy="Choose a model with cross-attention to see an alignment.",
        )
    layers = [record.sentence(index) for record in cross]
    layer = (
        most_informative(layers) if choice.layer is None else check_index("layer", choice.layer, len(layers))
    )
    matrix = _of_all(layers, choice) if choice.all_layers else combine(layers[layer - 1], choice)
    assert matrix.shape == (len(target.pieces), len(source.pieces)), "the tokens do not match the record"
    rows, columns = target.pieces, source.pieces
    if words:
        matrix = merge_words(matrix, [token.word for token in rows], [token.word for token in columns])
        rows, columns = target.words, source.words
    if not specials:
        matrix = drop_tokens(
            matrix,
            np.array([token.special for token in rows]),
            np.array([token.special for token in columns]),
        )
        rows, columns = _without_specials(rows), _without_specials(columns)
    caption = _caption(choice, layer, len(layers), cross[layer - 1].num_heads, words=words, specials=specials)
    return Alignment(matrix, rows, columns, caption)


def most_informative(layers: Sequence[Floats]) -> int:
    """Return the layer (from 1) whose mean over heads has the highest :func:`mutual_information`.

    Entropy would be a poor criterion: if every query attends to the end symbol, a common pattern, the layer
    has the lowest entropy but carries no information.

    Args:
        layers: each layer's weights, (H, T, S).
    """
    return 1 + int(np.argmax([mutual_information(weights.mean(axis=0)) for weights in layers]))


def mutual_information(matrix_TS: Floats) -> float:
    """Mutual information of query and key positions in nats: H(mean of the rows) - mean of H(row)."""
    joint = matrix_TS.astype(np.float64)
    return float(_entropy(joint.mean(axis=0)) - _entropy(joint).mean())


def combine(heads_HTS: Floats, choice: AlignmentHead) -> Floats:
    """Reduce a layer's heads to the chosen head or to their mean or maximum, (T, S); rows sum to 1."""
    if choice.head is not None:
        head: Floats = heads_HTS[check_index("head", choice.head, len(heads_HTS)) - 1]
        return head
    return normalise_rows(heads_HTS.mean(axis=0) if choice.combine == "mean" else heads_HTS.max(axis=0))


def _of_all(layers: Sequence[Floats], choice: AlignmentHead) -> Floats:
    means = [combine(layer, choice) for layer in layers]
    shares = np.array([mutual_information(mean) ** 2 for mean in means], dtype=np.float32)
    shares = shares / shares.sum() if shares.any() else np.full_like(shares, 1 / len(shares))
    return normalise_rows(np.einsum("l,lts->ts", shares, np.stack(means)))


def merge_words(matrix_TS: Floats, target_words: Sequence[int], source_words: Sequence[int]) -> Floats:
    """Merge subwords into words: sum over a word's keys, mean over its queries. Rows still sum to 1.

    Args:
        matrix_TS: weights over subwords.
        target_words: the word number of each row, ascending.
        source_words: the word number of each column, ascending.
    """
    rows, columns = _starts(target_words), _starts(source_words)
    lengths = np.diff(rows, append=len(target_words)).astype(np.float32)
    merged: Floats = np.add.reduceat(np.add.reduceat(matrix_TS, columns, axis=1), rows, axis=0)
    return merged / lengths[:, None]


def drop_tokens(matrix_TS: Floats, rows_T: NDArray[np.bool_], columns_S: NDArray[np.bool_]) -> Floats:
    """Drop the rows and columns marked True and renormalise; a row without remaining weight stays 0."""
    return normalise_rows(matrix_TS[~rows_T][:, ~columns_S])


def normalise_rows(matrix: Floats) -> Floats:
    """Scale rows to a sum of 1; rows of zeros stay 0."""
    total: Floats = matrix.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    return matrix / total


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy over the last axis, in nats."""
    entropy: NDArray[np.float64] = -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)
    return entropy


def _starts(words: Sequence[int]) -> NDArray[np.intp]:
    starts = [i for i, word in enumerate(words) if i == 0 or words[i - 1] != word]
    return np.array(starts, dtype=np.intp)


def _without_specials(tokens: Sequence[TokenLabel]) -> tuple[TokenLabel, ...]:
    return tuple(token for token in tokens if not token.special)


def check_index(name: str, number: int, count: int) -> int:
    """Return the number of a layer or head; raise ``UserError`` unless it lies in 1..count."""
    if not 1 <= number <= count:
        raise UserError(f"there is no {name} {number}", remedy=f"Choose one from 1 to {count}.")
    return number


def _caption(
    choice: AlignmentHead, layer: int, layers: int, heads: int, *, words: bool, specials: bool
) -> str:
    parts = [
        f"Attention over the source, layer {layer} of {layers}" if layers > 1 else "Attention over the source"
    ]
    if choice.all_layers and layers > 1:
        parts = [f"Attention over the source, mean of {layers} layers, the more informative weighing more"]
    elif choice.layer is None and layers > 1:
        parts[0] += " (the most informative)"
    if choice.head is not None:
        parts.append(f"head {choice.head} of {heads}")
    elif heads > 1:
        parts.append(f"{choice.combine} of {heads} heads")
    parts += ["subwords merged into words"] if words else []
    parts += [] if specials else ["special symbols omitted"]
    return f"{', '.join(parts)}. {CAUTION}"
