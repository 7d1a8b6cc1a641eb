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


@dataclass(frozen=True, slots=True)
class Input:
    """What an encoder reads: one text, or two of which it shall know which is which.

    Attributes:
        ids_BN: ids, padded on the right; [CLS] first [SEP], or [CLS] first [SEP] second [SEP].
        segments_BN: 0 for the first text and its symbols, 1 for the second.
        lengths_B: the true lengths.
    """

    ids_BN: Tensor
    segments_BN: Tensor
    lengths_B: Tensor

    def to(self, device: torch.device) -> "Input":
        """Return the same on ``device``."""
        return Input(self.ids_BN.to(device), self.segments_BN.to(device), self.lengths_B.to(device))


@dataclass(frozen=True, slots=True)
class MaskedBatch:
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
        return {"masked": len(self.places_M), "pairs": max(1, self.pairs)}

    def to(self, device: torch.device) -> "MaskedBatch":
        """Return the same on ``device``."""
        return MaskedBatch(
            self.input.to(device),
            self.places_M.to(device),
            self.answers_M.to(device),
            self.follows_B.to(device),
            self.tokens,
            self.pairs,
        )


@dataclass(frozen=True, slots=True)
class LabelledBatch:
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

    def to(self, device: torch.device) -> "LabelledBatch":
        """Return the same on ``device``."""
        return LabelledBatch(self.input.to(device), self.labels_B.to(device), self.tokens)


@dataclass(frozen=True, slots=True)
class CaptionBatch:
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
        return {"pictures": self.pixels_BChw.shape[0], "text_tokens": max(1, self.text_tokens)}

    def to(self, device: torch.device) -> "CaptionBatch":
        """Return the same pictures on ``device``."""
        return CaptionBatch(
            self.pixels_BChw.to(device), self.text_BT.to(device), self.lengths_B.to(device), self.text_tokens
        )
