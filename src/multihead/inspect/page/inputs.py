"""What goes into the first layer: positional encodings, and each token's neighbours among the embeddings."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from multihead.attention_maps.running_text import visible_spaces
from multihead.inspect import pictures
from multihead.inspect.page import packing
from multihead.inspect.page.packing import Json
from multihead.nn.patches import PatchPositions
from multihead.nn.positions import LearnedPositions, SinusoidalPositions
from multihead.text.tokenizer import Tokenizer

POSITIONS, DIMENSIONS, NEIGHBOURS = 128, 512, 8
"""How much of the encodings is embedded, and how many neighbours of each token."""


def positions(model: nn.Module) -> Json | None:
    """Return the positional encodings of the first places, None for a model that adds none."""
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
        **packing.signed(values),
    }


def neighbours(embedding: object, tokenizer: Tokenizer, ids: Sequence[int]) -> list[Json]:
    """Return the nearest pieces of each different piece, by the cosine of their embeddings.

    Args:
        embedding: the model's; anything that is no embedding of this vocabulary has no neighbours.
        tokenizer: whose pieces the embeddings stand for.
        ids: pieces of the sentence.
    """
    if not isinstance(embedding, nn.Embedding) or embedding.num_embeddings < tokenizer.vocab_size:
        return []
    with torch.no_grad():
        unit_Vd = nn.functional.normalize(embedding.weight[: tokenizer.vocab_size].float(), dim=1)
        asked = list(dict.fromkeys(ids))
        cosines = unit_Vd[asked] @ unit_Vd.T
        cosines[torch.arange(len(asked)), asked] = -torch.inf
        nearest = cosines.topk(min(NEIGHBOURS, tokenizer.vocab_size - 1), dim=1)
    places, values = nearest.indices.numpy(force=True), nearest.values.numpy(force=True).astype(np.float64)
    return [
        {
            "text": _shown(tokenizer, token),
            "nearest": [
                {"text": _shown(tokenizer, int(place)), "cosine": packing.rounded(value, 3)}
                for place, value in zip(row, cosine, strict=True)
            ],
        }
        for token, row, cosine in zip(asked, places, values, strict=True)
    ]


def near_patches(model: nn.Module) -> Json | None:
    """Return the cosines between the position vectors of all patches, (P, P), None for a model without."""
    for module in model.modules():
        if isinstance(module, PatchPositions):
            unit_Pd = nn.functional.normalize(module.weight.detach().float(), dim=1)
            return packing.signed((unit_Pd @ unit_Pd.T).numpy(force=True))
    return None


def _shown(tokenizer: Tokenizer, token: int) -> str:
    return pictures.visible(visible_spaces(tokenizer.piece(token)), 40)
