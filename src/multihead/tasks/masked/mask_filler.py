"""Masked-token prediction with a trained BERT run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from multihead.data.text_batches import as_input
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.run import Run
from multihead.system import hardware
from multihead.system.hardware import Precision
from multihead.tasks.masked.mask_tokens import encode_masked, mask_id
from multihead.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class MaskPrediction:
    """A vocabulary entry predicted for a mask, and its probability."""

    piece: str
    probability: float


@dataclass(frozen=True)
class FilledText:
    """A text with its masks filled in.

    Attributes:
        text: the text with the top prediction in place of each mask.
        gaps: the top-k predictions for each mask, most probable first.
    """

    text: str
    gaps: list[list[MaskPrediction]]


class MaskFiller:
    """Predicts masked tokens.

    Args:
        model: a masked language model.
        tokenizer: its tokenizer.
        device: device of the model.
        precision: precision of matrix products.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, *, device: torch.device, precision: Precision = "auto"
    ) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self._dtype = hardware.pick_dtype(precision, device)
        self._mask_id = mask_id(tokenizer)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a masked language model; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("masked"), hardware.pick_device(device)
        return cls(run.load_model(where), run.tokenizers()[0], device=where)

    def fill(self, text: str, top: int = 5) -> FilledText:
        """Predict the token behind each "[MASK]", all in one pass and independently of each other.

        Args:
            text: a text with one or more masks.
            top: number of predictions per mask.

        Raises:
            UserError: the text has no mask, or is longer than the model accepts.
        """
        ids = encode_masked(self.tokenizer, text)
        limit = int(self.model.limit)  # type: ignore[arg-type]
        if len(ids) > limit - 2:
            fact = f"{len(ids):,} tokens; the model accepts at most {limit - 2:,}"
            raise UserError(fact, place="text", remedy="Shorten it.")
        batch = as_input([(np.array(ids), None)], self.tokenizer).to(self.device)
        with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
            logits_NV: Any = self.model(batch)[0][0].float()
            banned = [*self.tokenizer.special_ids, self._mask_id]
            logits_NV[:, banned] = -torch.inf
            logits_NV[:, self.tokenizer.vocab_size :] = -torch.inf  # padding rows of the output layer
            p_NV = logits_NV.softmax(-1)
        masks = [position for position, token in enumerate(ids) if token == self._mask_id]
        k = min(top, self.tokenizer.vocab_size - len(banned))
        best = [p_NV[position + 1].topk(k) for position in masks]
        filled = list(ids)
        for position, top_k in zip(masks, best, strict=True):
            filled[position] = int(top_k.indices[0])
        return FilledText(
            self.tokenizer.decode(filled),
            [
                [
                    MaskPrediction(self.tokenizer.piece(token), p)
                    for token, p in zip(top_k.indices.tolist(), top_k.values.tolist(), strict=True)
                ]
                for top_k in best
            ],
        )
