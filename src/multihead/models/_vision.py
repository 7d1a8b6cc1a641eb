"""Settings that all image classifiers with a Transformer encoder share."""

from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from multihead.models._checks import check_patches
from multihead.recipe import settings


class ImageSettings(settings.Settings):
    """Settings that the data determine, and label smoothing."""

    image_size: PositiveInt = 224
    """Height and width of the images, in pixels; set by the data."""
    channels: Literal[1, 3] = 3
    """1 for greyscale images, 3 for colour; set by the data."""
    classes: PositiveInt = 1000
    """Number of classes; set by the data."""
    class_names: tuple[str, ...] = ()
    """Names of the classes; set by the data."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Label smoothing, epsilon (Szegedy et al. 2016, sec. 7)."""


class VisionSettings(ImageSettings):
    """Settings of the encoder of a vision transformer; the defaults are those of ViT-Base."""

    d_model: PositiveInt = 768
    """Width of embeddings and of the residual stream, D in the paper."""
    d_ff: PositiveInt = 3072
    """Inner width of the feed-forward networks (the paper's "MLP size")."""
    num_layers: PositiveInt = 12
    """Number of layers."""
    num_heads: PositiveInt = 12
    """Number of attention heads."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of every sublayer's output, inside the feed-forward networks, and of patches plus positions."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of attention weights."""
    stochastic_depth: float = Field(0.0, ge=0, lt=1)
    """Stochastic depth (Huang et al. 2016): drop probability of the last layer's sublayers, rising linearly
    from 0 at the first."""
    patch_dropout: float = Field(0.0, ge=0, lt=1)
    """Patch dropout (Liu et al. 2022): fraction of each image's patches that training leaves out, chosen
    anew at each update; it also saves their time."""
    norm_epsilon: PositiveFloat = 1e-6
    """Epsilon added to the variance in layer norms; the default is that of the authors' code
    (github.com/google-research/vision_transformer)."""
    initialisation: Literal["xavier", "xavier_normal", "lecun", "lecun_uniform", "kaiming", "normal"] = (
        "xavier"
    )
    """Initialisation of matrices: Glorot and Bengio 2010, LeCun et al. 1998, He et al. 2015, or N(0, 0.02^2).
    The classifier starts from zeros."""

    @property
    def grid(self) -> int:
        """Number of rows, and of columns, of patches."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _divisible(self) -> "VisionSettings":
        if self.d_model % self.num_heads:
            raise ValueError(f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}")
        return self


class PatchSettings(VisionSettings):
    """Settings of a vision transformer that cuts images into square patches."""

    patch_size: PositiveInt = 16
    """Height and width of a patch, in pixels."""

    @property
    def grid(self) -> int:
        """Number of rows, and of columns, of patches."""
        return self.image_size // self.patch_size

    @model_validator(mode="after")
    def _whole_patches(self) -> "PatchSettings":
        check_patches(self.image_size, self.patch_size)
        return self
