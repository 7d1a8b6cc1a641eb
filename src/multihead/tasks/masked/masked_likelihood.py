"""The likelihood that a masked language model gives to the masked tokens of texts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from multihead.data.text_batches import SPECIALS, evaluation_batches
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.nn.losses import validation_terms
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.masked.masking import MaskedBatches
from multihead.tasks.masked.settings import DataSettings
from multihead.text.tables import read_texts
from multihead.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096
BLOCK = 2048
"""Texts encoded in one call."""
EPOCH = 0
"""The masks are those of epoch 0, as in validations."""


@dataclass(frozen=True)
class MaskedLikelihood:
    """The likelihood of masked tokens, each given the unmasked rest of its text.

    Attributes:
        texts: number of texts.
        empty: number of texts without tokens, which are left out.
        cut: number of texts that were truncated to the model's input.
        masked: number of tokens predicted.
        nll: mean negative log-likelihood of a masked token, in nats.
        accuracy: share of masked tokens that the model ranks first.
        unknown: number of unknown tokens in the texts; they are never masked.
    """

    texts: int
    empty: int
    cut: int
    masked: int
    nll: float
    accuracy: float
    unknown: int

    @property
    def perplexity(self) -> float:
        """Perplexity of a masked token."""
        return math.exp(min(self.nll, 700))


class _Texts:
    """Texts in memory, with the interface of a store."""

    def __init__(self, texts: Sequence[NDArray[np.int32]]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def source(self, row: int) -> NDArray[np.int32]:
        return self._texts[row]


class MaskedMeasure:
    """Measures the likelihood that a trained masked language model gives to text files.

    Args:
        model: a masked language model.
        tokenizer: its tokenizer.
        data: settings of its training texts: share of masked tokens, seed, length, fields.
        device: device of the model.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, data: DataSettings, device: torch.device
    ) -> None:
        self.model, self.tokenizer, self.data, self.device = model, tokenizer, data, device

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a masked language model; not trained yet; no such device.
        """
        run = Run.open(folder).fit_for("masked")
        where = hardware.pick_device(device)
        return cls(run.load_model(where), run.tokenizers()[0], run.recipe.data, where)

    def measure(self, files: Sequence[str | Path]) -> MaskedLikelihood:
        """Return the likelihood of masked tokens in text files; every call masks the same tokens.

        Raises:
            UserError: a file cannot be read, or has no text with a known token.
        """
        most = self.data.max_length - SPECIALS
        texts: list[NDArray[np.int32]] = []
        empty = cut = unknown = 0
        for file in files:
            rows = read_texts(Path(file), self.data.text_field, self.data.encoding)
            while block := list(islice(rows, BLOCK)):
                for ids in self.tokenizer.encode_batch([row.text for row in block]):
                    empty += not ids
                    cut += len(ids) > most
                    unknown += ids.count(self.tokenizer.unk_id)
                    if ids:
                        texts.append(np.asarray(ids[:most], np.int32))
        if not texts:
            remedy = "Name a file with a text on each line."
            raise UserError("no text in it", place=str(files[0]), remedy=remedy)
        batches = MaskedBatches(
            _Texts(texts),
            self.tokenizer,
            max_length=self.data.max_length,
            masked=self.data.masked,
            next_sentence=False,
            seed=self.data.seed,
        )
        lengths = np.array([len(text) for text in texts], np.int32)
        sums = {"loss": 0.0, "accuracy": 0.0}
        masked = 0
        with evaluating(self.model), torch.no_grad():
            for indices in evaluation_batches(lengths, BATCH_TOKENS, len(texts)):
                batch = batches(indices, EPOCH)
                if not len(batch.places_M):
                    continue
                loss = validation_terms(self.model.loss(batch.to(self.device), 0), *sums)  # type: ignore[operator]
                for name, term in loss.items():
                    if name in sums:
                        sums[name] += term.sum.item()
                masked += len(batch.places_M)
        if not masked:
            raise UserError("every token is unknown to the model", place=str(files[0]))
        return MaskedLikelihood(
            len(texts), empty, cut, masked, sums["loss"] / masked, sums["accuracy"] / masked, unknown
        )
