"""The tensors that a model is fed.

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
    """What training knows of a batch, whatever is in it: a dataclass of tensors (and of such dataclasses)."""

    @property
    def tokens(self) -> int:
        """How much there is to learn from: target tokens, or pictures; speed is told in these."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What the terms of a loss are divided by, summed over an update; known before the forward pass."""
        ...

    def tensors(self) -> Iterator[Tensor]:
        """Yield every tensor in it, always in the same order."""
        ...

    def mapped(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the same batch with every tensor changed."""
        ...

    def to(self, device: torch.device) -> Self:
        """Return the same batch on ``device``."""
        ...


class Tensors:
    """A dataclass of tensors, of other such dataclasses, and of plain numbers."""

    __slots__ = ()

    def tensors(self) -> Iterator[Tensor]:
        """Yield every tensor in it, in the order of the fields."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                yield value
            elif isinstance(value, Tensors):
                yield from value.tensors()

    def mapped(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the same with every tensor changed."""
        changed: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                changed[field.name] = change(value)
            elif isinstance(value, Tensors):
                changed[field.name] = value.mapped(change)
        return replace(self, **changed)  # type: ignore[type-var]

    def to(self, device: torch.device) -> Self:
        """Return the same on ``device``."""
        return self.mapped(lambda tensor: tensor.to(device))

    def pin_memory(self) -> Self:
        """Return the same where a GPU can fetch it by itself; ``torch.utils.data.DataLoader`` asks for it."""
        return self.mapped(Tensor.pin_memory)


@dataclass(frozen=True, slots=True)
class Source(Tensors):
    """Sentences to read: ids padded on the right, and the true lengths."""

    ids_BS: Tensor
    lengths_B: Tensor


@dataclass(frozen=True, slots=True)
class PairBatch(Tensors):
    """Sentence pairs for teacher forcing.

    The source ends with the end symbol. ``target_BT`` holds begin symbol, tokens, end symbol: the
    decoder reads ``target_in`` and is asked for ``target_out``, the same sequence one place further.

    Attributes:
        source: the B source sentences.
        target_BT: ids, padded on the right.
        target_lengths_B: how many tokens of each row are to be predicted (the end symbol included,
            the begin symbol not), at most T - 1.
        tokens: the sum of ``target_lengths_B``, known here so that nobody has to ask the device.
    """

    source: Source
    target_BT: Tensor
    target_lengths_B: Tensor
    tokens: int

    @property
    def target_in(self) -> Tensor:
        """What the decoder reads: everything but the last column, (B, T - 1)."""
        return self.target_BT[:, :-1]

    @property
    def target_out(self) -> Tensor:
        """What the decoder shall say: everything but the first column, (B, T - 1)."""
        return self.target_BT[:, 1:]

    @property
    def counts(self) -> Mapping[str, int]:
        """What the terms of a loss are divided by; known before the forward pass."""
        return {"tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class TextBatch(Tensors):
    """Pieces of running text, all of one length: the model reads all but the last token, and is asked for all
    but the first.

    Attributes:
        ids_BT: ids; T is one more than the model reads.
    """

    ids_BT: Tensor

    @property
    def text_in(self) -> Tensor:
        """What is read, (B, T - 1)."""
        return self.ids_BT[:, :-1]

    @property
    def text_out(self) -> Tensor:
        """What is to be said, (B, T - 1)."""
        return self.ids_BT[:, 1:]

    @property
    def tokens(self) -> int:
        """How many tokens are to be predicted."""
        return self.ids_BT.shape[0] * (self.ids_BT.shape[1] - 1)

    @property
    def counts(self) -> Mapping[str, int]:
        """What the terms of a loss are divided by."""
        return {"tokens": self.tokens, "texts": self.ids_BT.shape[0]}


@dataclass(frozen=True, slots=True)
class PictureBatch(Tensors):
    """Pictures and their classes; a picture may be a mixture of two (mixup).

    Attributes:
        pixels_BChw: (B, channels, height, width), from 0 (black) to 1.
        labels_B2: the classes of the pictures that each is a mixture of; twice the same for a plain one.
        shares_B2: their parts, float; each row sums to 1.
    """

    pixels_BChw: Tensor
    labels_B2: Tensor
    shares_B2: Tensor

    @property
    def tokens(self) -> int:
        """How many pictures there are: what speed is measured in."""
        return self.pixels_BChw.shape[0]

    @property
    def counts(self) -> Mapping[str, int]:
        """What the terms of a loss are divided by; known before the forward pass."""
        return {"pictures": self.pixels_BChw.shape[0]}


@dataclass(frozen=True, slots=True)
class Input(Tensors):
    """What an encoder reads: one text, or two of which it shall know which is which.

    Attributes:
        ids_BN: ids, padded on the right; [CLS] first [SEP], or [CLS] first [SEP] second [SEP].
        segments_BN: 0 for the first text and its symbols, 1 for the second.
        lengths_B: the true lengths.
    """

    ids_BN: Tensor
    segments_BN: Tensor
    lengths_B: Tensor


@dataclass(frozen=True, slots=True)
class MaskedBatch(Tensors):
    """Texts with gaps (Devlin et al. 2019, sec. 3.1).

    Attributes:
        input: what is read, gaps made.
        places_M: where something is to be guessed, as places in ``ids_BN.flatten()``.
        answers_M: what stood there.
        follows_B: 1 where the second text goes on with the first, 0 where it does not, -1: not asked.
        tokens: how many pieces are read, padding not counted.
        pairs: how many of ``follows_B`` are asked.
    """

    input: Input
    places_M: Tensor
    answers_M: Tensor
    follows_B: Tensor
    tokens: int
    pairs: int

    @property
    def counts(self) -> Mapping[str, int]:
        """What the terms of a loss are divided by."""
        return {"masked": len(self.places_M), "pairs": self.pairs}


@dataclass(frozen=True, slots=True)
class LabelledBatch(Tensors):
    """Texts and their classes.

    Attributes:
        input: the texts.
        labels_B: classes, from 0.
        tokens: how many pieces are read, padding not counted.
    """

    input: Input
    labels_B: Tensor
    tokens: int

    @property
    def counts(self) -> Mapping[str, int]:
        """What the terms of a loss are divided by."""
        return {"texts": len(self.labels_B)}


@dataclass(frozen=True, slots=True)
class CaptionBatch(Tensors):
    """Pictures with their captions.

    Attributes:
        pixels_BChw: (B, channels, height, width), from 0 (black) to 1.
        text_BT: the captions' ids, without special symbols, padded on the right.
        lengths_B: how many ids of each caption are real.
        text_tokens: their sum.
    """

    pixels_BChw: Tensor
    text_BT: Tensor
    lengths_B: Tensor
    text_tokens: int

    @property
    def tokens(self) -> int:
        """How many pictures there are: what speed is measured in."""
        return self.pixels_BChw.shape[0]

    @property
    def counts(self) -> Mapping[str, int]:
        """What the terms of a loss are divided by; known before the forward pass."""
        return {"pictures": self.pixels_BChw.shape[0], "text_tokens": self.text_tokens}
