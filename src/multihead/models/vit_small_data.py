"""ViT with shifted patches and locality attention.

"Vision Transformer for Small-Size Datasets" (Lee, Lee and Song 2021).
"""

from pydantic import PositiveInt

from multihead.models._vision import PatchSettings
from multihead.models.vit import Parts, VisionTransformer
from multihead.nn.parts.patch_positions import PatchPositions
from multihead.nn.parts.patches import LinearPatches
from multihead.nn.parts.pooling import ClassPooling
from multihead.nn.parts.small_data import LocalityAttention, ShiftedPatches

TASK = "images"


class Settings(PatchSettings):
    """Settings of the ViT for small data sets; the defaults are the paper's ViT for images of 64 pixels."""

    image_size: PositiveInt = 64
    """Height and width of the images, in pixels; set by the data."""
    patch_size: PositiveInt = 8
    """Height and width of a patch, in pixels."""
    d_model: PositiveInt = 192
    """Width of embeddings and of the residual stream."""
    d_ff: PositiveInt = 384
    """Inner width of the feed-forward networks."""
    num_layers: PositiveInt = 9
    """Number of layers."""
    num_heads: PositiveInt = 12
    """Number of attention heads."""
    shifted_patches: bool = True
    """Shifted patch tokenization (sec. 3.1); false: a linear projection of each patch."""
    locality_attention: bool = True
    """Locality self-attention (sec. 3.2); false: scaled dot-product attention."""


class SmallDataViT(VisionTransformer):
    """Maps images to logits: shifted patches, encoder with locality attention, class token."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, _parts(settings))


def _parts(s: Settings) -> Parts:
    patches = ShiftedPatches if s.shifted_patches else LinearPatches
    return Parts(
        patches=lambda: patches(s.patch_size, s.channels, s.d_model),
        positions=lambda: PatchPositions(s.grid, s.grid, s.d_model),
        pool=ClassPooling,
        score=(lambda: LocalityAttention(s.d_model // s.num_heads, s.attention_dropout))
        if s.locality_attention
        else None,
        class_token=True,
    )


Model = SmallDataViT
