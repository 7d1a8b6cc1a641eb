"""The Compact Convolutional Transformer (CCT).

"Escaping the Big Data Paradigm with Compact Transformers" (Hassani et al. 2021): a convolutional tokenizer,
sequence pooling, and a small encoder. Layers are those of ``vit``, plainly pre-norm; the authors' code
(github.com/SHI-Labs/Compact-Transformers) normalises once more between the sublayers.
"""

from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from multihead.models._vision import VisionSettings
from multihead.models.vit import Parts, VisionTransformer
from multihead.nn.parts.convolutional_tokenizer import ConvolutionalTokenizer
from multihead.nn.parts.patch_positions import NoPatchPositions, PatchPositions, SinusoidalPatchPositions
from multihead.nn.parts.pooling import SequencePooling

TASK = "images"


class Settings(VisionSettings):
    """Settings of the CCT; the defaults are CCT-7/3x2 (Table 1)."""

    d_model: PositiveInt = 256
    """Width of embeddings and of the residual stream."""
    d_ff: PositiveInt = 512
    """Inner width of the feed-forward networks."""
    num_layers: PositiveInt = 7
    """Number of layers."""
    num_heads: PositiveInt = 4
    """Number of attention heads."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of attention weights."""
    stochastic_depth: float = Field(0.1, ge=0, lt=1)
    """Stochastic depth (Huang et al. 2016): drop probability of the last layer's sublayers, rising linearly
    from 0 at the first."""
    tokenizer_layers: PositiveInt = 2
    """Number of poolings, each of which halves height and width."""
    tokenizer_convolutions: PositiveInt = 1
    """Number of convolutions before each pooling (the paper: 1)."""
    tokenizer_width: PositiveInt = 64
    """Channels of all convolutions but the last, which has d_model."""
    kernel: PositiveInt = 3
    """Height and width of a convolution, odd."""
    batch_norm: bool = False
    """Batch norm after each convolution of the tokenizer (the paper: none)."""
    positions: Literal["learned", "sinusoidal", "none"] = "learned"
    """Positions of the tokens: learned, fixed sinusoids of two dimensions, or none (sec. 3.4)."""

    @field_validator("kernel")
    @classmethod
    def _odd(cls, kernel: int) -> int:
        if kernel % 2 == 0:
            raise ValueError(f"kernel {kernel} is even; it must be odd")
        return kernel

    @property
    def grid(self) -> int:
        """Number of rows, and of columns, of tokens."""
        side = self.image_size
        for _ in range(self.tokenizer_layers):
            side = (side + 1) // 2
        return side


class CompactConvolutionalTransformer(VisionTransformer):
    """Maps images to logits: convolutional tokenizer, encoder, sequence pooling, linear classifier."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, _parts(settings))


def _parts(s: Settings) -> Parts:
    positions = {
        "learned": lambda: PatchPositions(s.grid, s.grid, s.d_model),
        "sinusoidal": lambda: SinusoidalPatchPositions(s.grid, s.grid, s.d_model),
        "none": NoPatchPositions,
    }
    return Parts(
        patches=lambda: ConvolutionalTokenizer(
            s.channels,
            s.d_model,
            width=s.tokenizer_width,
            layers=s.tokenizer_layers,
            convolutions=s.tokenizer_convolutions,
            kernel=s.kernel,
            batch_norm=s.batch_norm,
        ),
        positions=positions[s.positions],
        pool=lambda: SequencePooling(s.d_model),
    )


Model = CompactConvolutionalTransformer
