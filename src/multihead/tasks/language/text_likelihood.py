"""The likelihood that a language model gives to running text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import nn

from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.nn.losses import validation_terms
from multihead.run import Run
from multihead.system import hardware
from multihead.system.hardware import Precision
from multihead.tasks.language.packed import Ids, encode_blocks
from multihead.tasks.language.settings import DataSettings
from multihead.tasks.language.windows import evaluation_batches
from multihead.text.documents import read_blocks
from multihead.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of a text: each token given the tokens before it in its window.

    Attributes:
        tokens: number of tokens predicted: all but the first.
        nll: mean negative log-likelihood of a token, in nats.
        accuracy: share of tokens that the model ranks first.
        bits_per_character: bits of the whole text divided by its characters; comparable between vocabularies
            that have no unknown tokens.
        unknown: number of unknown tokens.
    """

    tokens: int
    nll: float
    accuracy: float
    bits_per_character: float
    unknown: int = 0

    @property
    def perplexity(self) -> float:
        """Perplexity of a token."""
        return math.exp(min(self.nll, 700))


def likelihood(
    model: nn.Module,
    ids: Ids,
    characters: int,
    *,
    device: torch.device,
    precision: Precision = "auto",
    batch_tokens: int = BATCH_TOKENS,
    most: int | None = None,
    unknown: int = 0,
) -> Likelihood:
    """Return the likelihood of a text, in adjacent windows of the model's context.

    Args:
        model: a language model, in evaluation mode.
        ids: the text's token ids, (N,), two at least.
        characters: length of the text.
        device: device of the model.
        precision: precision of matrix products.
        batch_tokens: maximum number of predicted tokens in a batch.
        most: maximum number of predicted tokens, in windows evenly spaced over the text; None: all.
        unknown: number of unknown tokens.
    """
    dtype = hardware.pick_dtype(precision, device)
    sums = {"loss": 0.0, "accuracy": 0.0}
    tokens = 0
    for batch in evaluation_batches(
        ids,
        context=model.context,  # type: ignore[arg-type]
        batch_tokens=batch_tokens,
        most=len(ids) if most is None else most,
    ):
        with hardware.autocast(device, dtype), torch.no_grad():
            loss = model.loss(batch.to(device), 0)  # type: ignore[operator]
        for name, term in validation_terms(loss, *sums).items():
            sums[name] += term.sum.item()
        tokens += batch.tokens
    nll = sums["loss"] / tokens
    bits = nll / math.log(2) * len(ids) / characters
    return Likelihood(tokens, nll, sums["accuracy"] / tokens, bits, unknown)


class TextLikelihood:
    """Measures the likelihood that a trained language model gives to text files.

    Args:
        model: a language model.
        tokenizer: its tokenizer.
        data: settings of its training text; only ``documents`` and ``encoding`` matter.
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
            UserError: not a run; not a language model; not trained yet; no such device.
        """
        run = Run.open(folder).fit_for("language")
        where = hardware.pick_device(device)
        return cls(run.load_model(where), run.tokenizers()[0], run.recipe.data, where)

    def measure(self, files: Sequence[str | Path]) -> Likelihood:
        """Return the likelihood of the text of the files, read as the training text was.

        Raises:
            UserError: a file cannot be read, or the text has fewer than two tokens.
        """
        blocks = read_blocks([Path(file) for file in files], self.data.documents, self.data.encoding)
        parts, characters, unknown = [], 0, 0
        for text, ids in encode_blocks(blocks, self.tokenizer):
            parts.append(np.asarray(ids, np.int32))
            characters += len(text)
            unknown += ids.count(self.tokenizer.unk_id)
        all_ids = np.concatenate(parts)
        if len(all_ids) < 2:
            raise UserError("a text of one token predicts nothing", place=str(files[0]))
        with evaluating(self.model):
            return likelihood(
                self.model, all_ids, characters, device=self.device, precision="fp32", unknown=unknown
            )
