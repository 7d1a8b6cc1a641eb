"""A trained BERT that says what is missing in a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from multihead import hardware
from multihead.attention_maps.calls import evaluating
from multihead.data.text_batches import as_input
from multihead.errors import UserError
from multihead.hardware import Precision
from multihead.run import Run
from multihead.text.masking import MASK, encode_masked, mask_id
from multihead.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Guess:
    """A piece for a gap, as the vocabulary writes it, and its probability."""

    piece: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """What is said of a text with gaps.

    Attributes:
        text: with the likeliest piece in every gap.
        gaps: for each gap the likeliest pieces, best first.
    """

    text: str
    gaps: list[list[Guess]]


class MaskFiller:
    """A model with gaps to fill, and its vocabulary.

    Args:
        model: the model.
        tokenizer: its vocabulary.
        device: where the model is.
        precision: of matrix products.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, *, device: torch.device, precision: Precision = "auto"
    ) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self._dtype = hardware.pick_dtype(precision, device)
        self._gap = mask_id(tokenizer)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Read a trained run.

        Raises:
            UserError: not a run, none that fills gaps, not trained yet, no such device.
        """
        run, where = Run.open(folder).fit_for("masked"), hardware.pick_device(device)
        return cls(run.load_model(where), run.tokenizers()[0], device=where)

    def fill(self, text: str, top: int = 5) -> Filled:
        """Say what may stand where "[MASK]" stands. Every gap is guessed by itself, all at once.

        Args:
            text: with one or more gaps.
            top: how many pieces are told for each.

        Raises:
            UserError: no gap; longer than the model can read.
        """
        ids = encode_masked(self.tokenizer, text)
        limit = int(self.model.limit)  # type: ignore[arg-type]
        if len(ids) > limit - 2:
            fact = f"{len(ids):,} pieces are more than the model can read ({limit - 2:,})"
            raise UserError(fact, place="text", remedy="Leave out a part of it.")
        read = as_input([(np.array(ids), None)], self.tokenizer).to(self.device)
        with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
            logits_NV: Any = self.model(read)[0][0].float()
            silent = [*self.tokenizer.special_ids, self._gap]
            logits_NV[:, silent] = -torch.inf
            logits_NV[:, self.tokenizer.vocab_size :] = -torch.inf  # rows that are only padding
            p_NV = logits_NV.softmax(-1)
        gaps = [place for place, number in enumerate(ids) if number == self._gap]
        best = [p_NV[place + 1].topk(min(top, self.tokenizer.vocab_size - len(silent))) for place in gaps]
        whole = list(ids)
        for place, found in zip(gaps, best, strict=True):
            whole[place] = int(found.indices[0])
        return Filled(
            self.tokenizer.decode(whole),
            [self._guesses(found.indices.tolist(), found.values.tolist()) for found in best],
        )

    def _guesses(self, ids: Sequence[int], probabilities: Sequence[float]) -> list[Guess]:
        return [Guess(self.tokenizer.piece(i), p) for i, p in zip(ids, probabilities, strict=True)]


__all__ = ["MASK", "Filled", "Guess", "MaskFiller"]
