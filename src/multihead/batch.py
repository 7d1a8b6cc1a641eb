"""Batches: the input tensors of models.

Shape legend of the whole package (a suffix names the axes, ``q_BHQd``):
B sentences in a batch, S source length, T target length, N a length of either kind,
H heads, Q queries, K keys, d a width (``d_model``, ``d_k``), V vocabulary, R rows of a search (hypotheses).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self

import torch
from torch import Tensor


class Batch(Protocol):
    """The interface of a batch that training relies on: a dataclass of tensors and nested dataclasses."""

    @property
    def tokens(self) -> int:
        """Number of training units: target tokens, or images. Throughput is reported in these."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms, summed over an update; known before the forward pass."""
        ...

    def tensors(self) -> Iterator[Tensor]:
        """Yield every tensor, always in the same order."""
        ...

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return a copy with ``change`` applied to every tensor."""
        ...

    def to(self, device: torch.device) -> Self:
        """Return a copy on ``device``."""
        ...


class Tensors:
    """Base of dataclasses that hold tensors, plain numbers and other such dataclasses."""

    __slots__ = ()

    def tensors(self) -> Iterator[Tensor]:
        """Yield every tensor, in the order of the fields."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                yield value
            elif isinstance(value, Tensors):
                yield from value.tensors()

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return a copy with ``change`` applied to every tensor."""
        changed: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                changed[field.name] = change(value)
            elif isinstance(value, Tensors):
                changed[field.name] = value.map_tensors(change)
        return replace(self, **changed)  # type: ignore[type-var]

    def to(self, device: torch.device) -> Self:
        """Return a copy on ``device``."""
        return self.map_tensors(lambda tensor: tensor.to(device))

    def pin_memory(self) -> Self:
        """Return a copy in pinned memory; ``torch.utils.data.DataLoader`` calls this."""
        return self.map_tensors(Tensor.pin_memory)


@dataclass(frozen=True, slots=True)
class Source(Tensors):
    """Source sentences: ids padded on the right, and their lengths without padding."""

    ids_BS: Tensor
    lengths_B: Tensor


@dataclass(frozen=True, slots=True)
class PairBatch(Tensors):
    """Sentence pairs for teacher forcing.

    The source ends with the end symbol. ``target_BT`` holds begin symbol, tokens and end symbol. The
    decoder reads ``target_in`` and predicts ``target_out``, the same sequence shifted by one.

    Attributes:
        source: B source sentences.
        target_BT: ids, padded on the right.
        target_lengths_B: number of predicted tokens of each row, at most T - 1. The end symbol counts, the
            begin symbol does not.
        tokens: sum of ``target_lengths_B``, stored so that reading it needs no device synchronisation.
    """

    source: Source
    target_BT: Tensor
    target_lengths_B: Tensor
    tokens: int

    @property
    def target_in(self) -> Tensor:
        """Decoder input: all but the last column, (B, T - 1)."""
        return self.target_BT[:, :-1]

    @property
    def target_out(self) -> Tensor:
        """Prediction targets: all but the first column, (B, T - 1)."""
        return self.target_BT[:, 1:]

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class TextBatch(Tensors):
    """Equally long segments of running text for language modelling.

    Attributes:
        ids_BT: ids; T is the context length plus one.
    """

    ids_BT: Tensor

    @property
    def text_in(self) -> Tensor:
        """Model input: all but the last token, (B, T - 1)."""
        return self.ids_BT[:, :-1]

    @property
    def text_out(self) -> Tensor:
        """Prediction targets: all but the first token, (B, T - 1)."""
        return self.ids_BT[:, 1:]

    @property
    def tokens(self) -> int:
        """Number of predicted tokens."""
        return self.ids_BT.shape[0] * (self.ids_BT.shape[1] - 1)

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"tokens": self.tokens, "texts": self.ids_BT.shape[0]}


@dataclass(frozen=True, slots=True)
class ImageBatch(Tensors):
    """Images and their classes. An image may be a mixture of two (mixup).

    Attributes:
        pixels_BChw: (B, channels, height, width), from 0 (black) to 1.
        labels_B2: the classes of the two mixed images; the same class twice without mixup.
        shares_B2: the mixing weights, float; each row sums to 1.
    """

    pixels_BChw: Tensor
    labels_B2: Tensor
    shares_B2: Tensor

    @property
    def tokens(self) -> int:
        """Number of images, the unit of throughput."""
        return self.pixels_BChw.shape[0]

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"images": self.pixels_BChw.shape[0]}


@dataclass(frozen=True, slots=True)
class CaptionBatch(Tensors):
    """Images with their captions.

    Attributes:
        pixels_BChw: (B, channels, height, width), from 0 (black) to 1.
        text_BT: caption ids without special symbols, padded on the right.
        lengths_B: caption lengths without padding.
        text_tokens: sum of ``lengths_B``.
    """

    pixels_BChw: Tensor
    text_BT: Tensor
    lengths_B: Tensor
    text_tokens: int

    @property
    def tokens(self) -> int:
        """Number of images, the unit of throughput."""
        return self.pixels_BChw.shape[0]

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"images": self.pixels_BChw.shape[0], "text_tokens": self.text_tokens}


@dataclass(frozen=True, slots=True)
class SceneBatch(Tensors):
    """Images of several objects each. M is the largest number of objects in an image, at least 1.

    Attributes:
        pixels_BChw: (B, channels, height, width), from 0 (black) to 1.
        boxes_BM4: centre x and y, width and height of each object, as fractions of the image.
        classes_BM: class indices from 0; -1 for no object.
        objects: number of objects.
    """

    pixels_BChw: Tensor
    boxes_BM4: Tensor
    classes_BM: Tensor
    objects: int

    @property
    def tokens(self) -> int:
        """Number of images, the unit of throughput."""
        return self.pixels_BChw.shape[0]

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"images": self.pixels_BChw.shape[0], "objects": self.objects}


@dataclass(frozen=True, slots=True)
class SetBatch(Tensors):
    """Sets of images, of which one differs in class from all others of its set.

    Attributes:
        pixels_BNChw: (B, N, channels, height, width), from 0 (black) to 1; N images in a set, in any order.
        odd_B: the place of the odd one, from 0.
    """

    pixels_BNChw: Tensor
    odd_B: Tensor

    @property
    def tokens(self) -> int:
        """Number of images, the unit of throughput."""
        return self.pixels_BNChw.shape[0] * self.pixels_BNChw.shape[1]

    @property
    def counts(self) -> Mapping[str, int]:
        """Denominators of the loss terms."""
        return {"sets": self.pixels_BNChw.shape[0]}


# --- texts for encoders: the input of BERT, and the tokens to predict


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
        tags_BN: the tag of the word that begins at each position, from 0; -1 if none begins.
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
        starts_B: position of the answer's first token; 0, that of [CLS], if the text has no answer.
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
