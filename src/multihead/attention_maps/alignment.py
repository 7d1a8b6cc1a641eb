"""From recorded attention to one alignment: target rows by source columns (Bahdanau et al. 2015, fig. 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multihead.attention_maps.record import AttentionRecord
from multihead.attention_maps.tokens import Sentence, Token
from multihead.errors import UserError

Floats = NDArray[np.float32]
CAUTION = "Attention is evidence of where the model looked, not an explanation of what it did."


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the recorded attention an alignment is made of.

    Attributes:
        layer: counted from 1; None: the layer that tells most about the source, see :func:`most_telling`.
        head: counted from 1; None: all of them together.
        combine: how heads are put together, by their mean or their largest weight.
    """

    layer: int | None = None
    head: int | None = None
    combine: Literal["mean", "max"] = "mean"


@dataclass(frozen=True, slots=True)
class Alignment:
    """How much each target token took from each source token.

    Attributes:
        matrix_TS: rows sum to 1, or to 0 where the model looked at nothing but what is left out.
        target: output tokens, one a row; the query of a row is the one that the token was predicted from.
        source: source tokens, one a column.
        caption: how it was made, in words.
        rows: what a row is.
        columns: what a column is.
        allowed_TS: where a row was allowed to look; None: everywhere.
    """

    matrix_TS: Floats
    target: tuple[Token, ...]
    source: tuple[Token, ...]
    caption: str
    rows: str = "output token (query)"
    columns: str = "source token (key)"
    allowed_TS: NDArray[np.bool_] | None = None


def align(
    records: Sequence[AttentionRecord],
    source: Sentence,
    target: Sentence,
    *,
    index: int = 0,
    choice: Choice = Choice(),
    words: bool = False,
    specials: bool = False,
) -> Alignment:
    """Return one sentence's alignment.

    Args:
        records: of a batch, from ``record``.
        source: the source's tokens, its end symbol included.
        target: the output tokens (``target_out``), the end symbol included.
        index: which sentence of the batch.
        choice: which layer and heads.
        words: merge pieces to words: the sum over a word's keys, the mean over its queries.
        specials: keep special symbols; otherwise they are left out and the rows renormalised.

    Raises:
        UserError: the model has no attention over the source, or no such layer or head.
    """
    cross = [record for record in records if record.kind == "cross"]
    if not cross:
        raise UserError("this model has no attention over the source", remedy="There is nothing to align by.")
    layers = [one.sentence(index) for one in cross]
    layer = most_telling(layers) if choice.layer is None else picked("layer", choice.layer, len(layers))
    matrix = combine(layers[layer - 1], choice)
    assert matrix.shape == (len(target.pieces), len(source.pieces)), "tokens are not those of the record"
    rows, columns = target.pieces, source.pieces
    if words:
        matrix = merge_words(matrix, [token.word for token in rows], [token.word for token in columns])
        rows, columns = target.words, source.words
    if not specials:
        matrix = without(
            matrix,
            np.array([token.special for token in rows]),
            np.array([token.special for token in columns]),
        )
        rows, columns = _plain(rows), _plain(columns)
    caption = _caption(choice, layer, len(layers), cross[layer - 1].num_heads, words=words, specials=specials)
    return Alignment(matrix, rows, columns, caption)


def most_telling(layers: Sequence[Floats]) -> int:
    """The layer (from 1) whose mean over heads tells most about the source.

    Measured by :func:`mutual_information`. Low entropy alone would not do: a layer in which every query
    looks at the end symbol, as is common, has the lowest entropy of all and tells nothing.

    Args:
        layers: the layers' weights, each (H, T, S).
    """
    return 1 + int(np.argmax([mutual_information(weights.mean(axis=0)) for weights in layers]))


def mutual_information(matrix_TS: Floats) -> float:
    """How much (nats) a query's place tells about the key's: H(mean of the rows) - mean of H(row)."""
    joint = matrix_TS.astype(np.float64)
    return float(_entropy(joint.mean(axis=0)) - _entropy(joint).mean())


def combine(heads_HTS: Floats, choice: Choice) -> Floats:
    """One head, or all of a layer's in one matrix (T, S) whose rows sum to 1."""
    if choice.head is not None:
        chosen: Floats = heads_HTS[picked("head", choice.head, len(heads_HTS)) - 1]
        return chosen
    return _normalised(heads_HTS.mean(axis=0) if choice.combine == "mean" else heads_HTS.max(axis=0))


def merge_words(matrix_TS: Floats, target_words: Sequence[int], source_words: Sequence[int]) -> Floats:
    """The sum over the key pieces of a word, the mean over its query pieces; rows still sum to 1.

    Args:
        matrix_TS: over pieces.
        target_words: each row's word number, ascending.
        source_words: each column's word number, ascending.
    """
    rows, columns = _starts(target_words), _starts(source_words)
    lengths = np.diff(rows, append=len(target_words)).astype(np.float32)
    merged: Floats = np.add.reduceat(np.add.reduceat(matrix_TS, columns, axis=1), rows, axis=0)
    return merged / lengths[:, None]


def without(matrix_TS: Floats, rows_T: NDArray[np.bool_], columns_S: NDArray[np.bool_]) -> Floats:
    """Leave rows and columns out; what is left of a row sums to 1 again, or stays 0."""
    return _normalised(matrix_TS[~rows_T][:, ~columns_S])


def _normalised(matrix: Floats) -> Floats:
    total: Floats = matrix.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    return matrix / total


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over the last axis, in nats."""
    entropy: NDArray[np.float64] = -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)
    return entropy


def _starts(words: Sequence[int]) -> NDArray[np.intp]:
    starts = [place for place, word in enumerate(words) if place == 0 or words[place - 1] != word]
    return np.array(starts, dtype=np.intp)


def _plain(tokens: Sequence[Token]) -> tuple[Token, ...]:
    return tuple(token for token in tokens if not token.special)


def picked(name: str, number: int, there_are: int) -> int:
    """Return a number from 1 on, refused with ``UserError`` where there are not so many."""
    if not 1 <= number <= there_are:
        raise UserError(f"there is no {name} {number}", remedy=f"Choose one from 1 to {there_are}.")
    return number


def _caption(choice: Choice, layer: int, layers: int, heads: int, *, words: bool, specials: bool) -> str:
    parts = [
        f"Attention over the source, layer {layer} of {layers}" if layers > 1 else "Attention over the source"
    ]
    if choice.layer is None and layers > 1:
        parts[0] += " (the most telling one)"
    if choice.head is not None:
        parts.append(f"head {choice.head} of {heads}")
    elif heads > 1:
        parts.append(f"{choice.combine} of {heads} heads")
    parts += ["pieces merged to words"] if words else []
    parts += [] if specials else ["special symbols left out"]
    return f"{', '.join(parts)}. {CAUTION}"
