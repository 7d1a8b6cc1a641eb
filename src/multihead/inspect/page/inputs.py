"""Inputs of the first layer: positional encodings and nearest neighbours of token embeddings."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from multihead.inspect import figures
from multihead.inspect.maps.running_text import visible_spaces
from multihead.inspect.page import packing
from multihead.inspect.page.packing import Json
from multihead.nn.parts.patch_positions import PatchPositions
from multihead.nn.positions import LearnedPositions, SinusoidalPositions
from multihead.text.tokenizer import Tokenizer

POSITIONS, DIMENSIONS, NEIGHBOURS = 128, 512, 8
"""Maximum numbers of positions, dimensions, and neighbours per token on the page."""


def positions(model: nn.Module) -> Json | None:
    """Return the encodings of the first positions; None for a model without absolute positions."""
    for module in model.modules():
        if isinstance(module, SinusoidalPositions):
            return _table(module.table, "sinusoids")
        if isinstance(module, LearnedPositions):
            return _table(module.weight, "learned")
    return None


def _table(table_Nd: Tensor, kind: str) -> Json:
    values = table_Nd[:POSITIONS, :DIMENSIONS].detach().float().numpy(force=True)
    return {
        "kind": kind,
        "positions": values.shape[0],
        "dimensions": values.shape[1],
        "d_model": table_Nd.shape[1],
        **packing.pack_signed(values),
    }


def neighbours(embedding: object, tokenizer: Tokenizer, ids: Sequence[int]) -> list[Json]:
    """Return the nearest neighbours of each distinct token, by cosine similarity of embeddings.

    Args:
        embedding: the model's embedding; if it does not cover the vocabulary, the list is empty.
        tokenizer: the tokenizer of the vocabulary.
        ids: tokens of the sentence.
    """
    if not isinstance(embedding, nn.Embedding) or embedding.num_embeddings < tokenizer.vocab_size:
        return []
    with torch.no_grad():
        unit_Vd = nn.functional.normalize(embedding.weight[: tokenizer.vocab_size].float(), dim=1)
        queries = list(dict.fromkeys(ids))
        cosines = unit_Vd[queries] @ unit_Vd.T
        cosines[torch.arange(len(queries)), queries] = -torch.inf
        nearest = cosines.topk(min(NEIGHBOURS, tokenizer.vocab_size - 1), dim=1)
    indices, values = nearest.indices.numpy(force=True), nearest.values.numpy(force=True).astype(np.float64)
    return [
        {
            "text": _label(tokenizer, token),
            "nearest": [
                {"text": _label(tokenizer, int(index)), "cosine": packing.round_number(value, 3)}
                for index, value in zip(row, cosine, strict=True)
            ],
        }
        for token, row, cosine in zip(queries, indices, values, strict=True)
    ]


def position_similarities(model: nn.Module) -> Json | None:
    """Return the cosine similarities of all patch position embeddings, (P, P); None if there are none."""
    for module in model.modules():
        if isinstance(module, PatchPositions):
            unit_Pd = nn.functional.normalize(module.weight.detach().float(), dim=1)
            return packing.pack_signed((unit_Pd @ unit_Pd.T).numpy(force=True))
    return None


def _label(tokenizer: Tokenizer, token: int) -> str:
    return figures.visible(visible_spaces(tokenizer.piece(token)), 40)
