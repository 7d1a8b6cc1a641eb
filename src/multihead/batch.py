"""The tensors that a model is fed.

Shape legend of the whole package (a suffix names the axes, ``q_BHQd``):
B sentences in a batch, S source length, T target length, N a length of either kind,
H heads, Q queries, K keys, d a width (``d_model``, ``d_k``), V vocabulary, R rows of a search (hypotheses).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self

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
        """What the terms of a loss are divided by; known before the forward pass."""
        ...

    def to(self, device: torch.device) -> Self:
        """Return the same batch on ``device``."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """Sentences to read: ids padded on the right, and the true lengths."""

    ids_BS: Tensor
    lengths_B: Tensor

    def to(self, device: torch.device) -> "Source":
        """Return the same sentences on ``device``."""
        return Source(self.ids_BS.to(device), self.lengths_B.to(device))


@dataclass(frozen=True, slots=True)
class PairBatch:
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
        return {"tokens": self.tokens, "sentences": self.target_BT.shape[0]}

    def to(self, device: torch.device) -> "PairBatch":
        """Return the same pairs on ``device``."""
        return PairBatch(
            self.source.to(device), self.target_BT.to(device), self.target_lengths_B.to(device), self.tokens
        )


@dataclass(frozen=True, slots=True)
class TextBatch:
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

    def to(self, device: torch.device) -> "TextBatch":
        """Return the same texts on ``device``."""
        return TextBatch(self.ids_BT.to(device))


@dataclass(frozen=True, slots=True)
class PictureBatch:
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

    def to(self, device: torch.device) -> "PictureBatch":
        """Return the same pictures on ``device``."""
        return PictureBatch(self.pixels_BChw.to(device), self.labels_B2.to(device), self.shares_B2.to(device))
