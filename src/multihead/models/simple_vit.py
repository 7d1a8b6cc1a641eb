"""SimpleViT, "Better plain ViT baselines for ImageNet-1k" (Beyer, Zhai and Kolesnikov 2022).

Fixed sinusoids of two dimensions, the mean patch in the place of a class token, and no dropout.
"""

from pydantic import PositiveInt, model_validator

from multihead.models._vision import PatchSettings
from multihead.models.vit import Parts, VisionTransformer
from multihead.nn.parts.patch_positions import SinusoidalPatchPositions
from multihead.nn.parts.patches import LinearPatches
from multihead.nn.parts.pooling import MeanPooling

TASK = "images"


class Settings(PatchSettings):
    """Settings of SimpleViT; the defaults are the paper's ViT-S/16."""

    d_model: PositiveInt = 384
    """Width of embeddings and of the residual stream, a multiple of 4."""
    d_ff: PositiveInt = 1536
    """Inner width of the feed-forward networks."""
    num_heads: PositiveInt = 6
    """Number of attention heads."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.d_model % 4 or self.d_model < 8:
            raise ValueError(
                f"sinusoids of two dimensions need a d_model of 8, 12, 16, ..., not {self.d_model}"
            )
        return self


class SimpleViT(VisionTransformer):
    """Maps images to logits: patches with fixed sinusoids, encoder, mean patch, linear classifier."""

    def __init__(self, settings: Settings) -> None:
        s = settings
        parts = Parts(
            patches=lambda: LinearPatches(s.patch_size, s.channels, s.d_model),
            positions=lambda: SinusoidalPatchPositions(s.grid, s.grid, s.d_model),
            pool=MeanPooling,
        )
        super().__init__(s, parts)


Model = SimpleViT
