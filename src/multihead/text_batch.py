"""Batches of texts for encoders: the input of BERT, and what is predicted. Axes as in ``multihead.batch``."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from multihead.batch import Tensors


@dataclass(frozen=True, slots=True)
class Input(Tensors):
    """Encoder input: one text, or a pair of texts with segment ids (Devlin et al. 2019, sec. 3).

    Attributes:
        ids_BN: ids, padded on the right: [CLS] first [SEP], or [CLS] first [SEP] second [SEP].
        segments_BN: segment ids: 0 for the first text and its symbols, 1 for the second.
        lengths_B: lengths without padding.
    """

    ids_BN: Tensor
    segments_BN: Tensor
    lengths_B: Tensor


@dataclass(frozen=True, slots=True)
class MaskedBatch(Tensors):
    """Masked texts for BERT pre-training (Devlin et al. 2019, sec. 3.1).

    Attributes:
        input: the masked texts.
        places_M: positions to predict, as indices into ``ids_BN.flatten()``.
        answers_M: the original tokens at these positions.
        follows_B: next-sentence labels: 1 if the second text follows the first, 0 if not, -1 for no pair.
        tokens: number of input tokens, without padding.
        pairs: number of rows with a next-sentence label.
    """

    input: Input
    places_M: Tensor
    answers_M: Tensor
    follows_B: Tensor
    tokens: int
    pairs: int

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"masked": len(self.places_M), "pairs": self.pairs}


@dataclass(frozen=True, slots=True)
class LabelledBatch(Tensors):
    """Texts and their classes.

    Attributes:
        input: the texts.
        labels_B: class indices, from 0.
        tokens: number of input tokens, without padding.
    """

    input: Input
    labels_B: Tensor
    tokens: int

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"texts": len(self.labels_B)}


@dataclass(frozen=True, slots=True)
class TaggedBatch(Tensors):
    """Texts with a tag for each word.

    Attributes:
        input: the texts.
        tags_BN: the tag of the word that begins at each position, from 0; -1 where none begins.
        tokens: number of input tokens, without padding.
        tagged: number of words.
    """

    input: Input
    tags_BN: Tensor
    tokens: int
    tagged: int

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"tags": self.tagged}


@dataclass(frozen=True, slots=True)
class SpanBatch(Tensors):
    """Questions with texts, and where in the texts the answers are.

    Attributes:
        input: pairs of a question and a text.
        starts_B: position of the answer's first token; 0, that of [CLS], where the text has no answer.
        ends_B: position of its last token, likewise.
        tokens: number of input tokens, without padding.
    """

    input: Input
    starts_B: Tensor
    ends_B: Tensor
    tokens: int

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"windows": len(self.starts_B)}
