"""BERT and ViT computed from their descriptions alone, as the page does."""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.apps.export.page.text_reference import difference, encode, linear, norm
from multihead.batch import Input
from multihead.nn.description import ImageSpec, MaskedSpec
from multihead.nn.feed_forward import ACTIVATIONS
from multihead.nn.parts.patches import patches_of


def example_text(described: MaskedSpec, vocabulary: int) -> Tensor:
    """Return ids to compare a model with, (N,)."""
    weight = described.positions.weight
    assert weight is not None
    return torch.arange(min(53, len(weight))) * 7919 % vocabulary


def example_image(described: ImageSpec) -> Tensor:
    """Return an image to compare a model with, (C, h, w), of integers up to 255."""
    size = described.grid * described.patch_size
    return (torch.arange(described.channels * size * size) * 7919 % 256).view(described.channels, size, size)


@torch.inference_mode()
def disagreement(model: nn.Module, described: MaskedSpec | ImageSpec, vocabulary: int) -> str | None:
    """Return the difference between a model and its description on an example; None: they agree."""
    if isinstance(described, MaskedSpec):
        ids_N = example_text(described, vocabulary)
        expected, computed = model_logits(model, ids_N), masked_logits(described, ids_N)
    else:
        pixels_Chw = example_image(described) / 255
        expected, computed = cast(Any, model)(pixels_Chw[None])[0], image_logits(described, pixels_Chw)
    return difference(expected, computed)


def model_logits(model: nn.Module, ids_N: Tensor) -> Tensor:
    """Return a masked model's own logits of every token of a text, (N, V)."""
    inputs = Input(ids_N[None], torch.zeros_like(ids_N)[None], torch.tensor([len(ids_N)]))
    logits_NV: Tensor = cast(Any, model)(inputs)[0][0].float()
    return logits_NV


def masked_logits(described: MaskedSpec, ids_N: Tensor) -> Tensor:
    """Return the logits of every token of a text, (N, V)."""
    N = len(ids_N)
    positions_Md: Any = described.positions.weight  # always learned
    x_Nd = F.embedding(ids_N, described.embedding.weight) * described.embedding.scale
    x_Nd = x_Nd + described.segments[0] + positions_Md[:N]
    hidden_Nd = encode(described.stack, norm(described.embedding_norm, x_Nd), torch.ones(N, N).bool())
    inner_Nd = ACTIVATIONS[described.activation](linear(described.transform, hidden_Nd))
    return linear(described.output, norm(described.transform_norm, inner_Nd))


def image_logits(described: ImageSpec, pixels_Chw: Tensor) -> Tensor:
    """Return the logits of the classes of an image, from 0 (black) to 1, (K,)."""
    patches_Pn = patches_of(2 * pixels_Chw[None] - 1, described.patch_size)[0]
    x_Pd = linear(described.patches, patches_Pn) + described.positions
    first = [part.reshape(-1, x_Pd.shape[1]) for part in described.first]
    x_Nd = torch.cat([*first, x_Pd])
    N, before = len(x_Nd), len(x_Nd) - len(x_Pd)
    hidden_Nd = encode(described.stack, x_Nd, torch.ones(N, N).bool())
    read_d = hidden_Nd[0] if described.pooling == "class" else hidden_Nd[before:].mean(0)
    return linear(described.classifier, read_d)
