"""The Vision Transformer, "An Image is Worth 16x16 Words" (Dosovitskiy et al. 2021).

``VisionTransformer(Settings())`` is the paper's ViT-Base with patches of 16 x 16 (Table 1).
"""

import math
from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import PictureBatch
from multihead.models._attention import EncoderAttentionSettings, feed_forward, is_reversible, self_attention
from multihead.nn import PreNorm, TransformerEncoder
from multihead.nn.initialisation import initialise
from multihead.nn.losses import Loss
from multihead.nn.modules import Dropout, set_epsilon
from multihead.nn.patches import ConvolutionalPatches, LinearPatches, PatchPositions, resized
from multihead.nn.reversible import ReversibleStack
from multihead.nn.soft_labels import soft_label_loss
from multihead.nn.stochastic_depth import StochasticPreNorm, set_drop_probabilities

TASK = "pictures"
CLASSIFIER, POSITIONS = ("classifier.weight", "classifier.bias"), "positions.weight"


class Settings(EncoderAttentionSettings):
    """Settings of the Vision Transformer; the defaults are ViT-B/16."""

    picture_size: PositiveInt = 224
    """Height and width of the pictures, in pixels; set by the data."""
    channels: Literal[1, 3] = 3
    """1 for greyscale pictures, 3 for colour; set by the data."""
    classes: PositiveInt = 1000
    """Number of classes; set by the data."""
    class_names: tuple[str, ...] = ()
    """Names of the classes; set by the data."""
    patch_size: PositiveInt = 16
    """Height and width of a patch, in pixels."""
    stem: Literal["linear", "convolutional"] = "linear"
    """Patch embedding: a linear projection (eq. 1), or a few convolutions (the hybrid of sec. 3.1; Xiao et
    al. 2021), which learn from fewer pictures and need a patch_size that is a power of 2."""
    stem_width: PositiveInt = 16
    """Channels of the first convolution (stem = "convolutional"), doubled wherever the picture is halved."""
    d_model: PositiveInt = 768
    """Width of embeddings and of the residual stream, D in the paper."""
    d_ff: PositiveInt = 3072
    """Inner width of the feed-forward networks (the paper's "MLP size")."""
    num_layers: PositiveInt = 12
    """Number of layers."""
    num_heads: PositiveInt = 12
    """Number of attention heads."""
    pooling: Literal["class", "mean"] = "class"
    """Input of the classifier: a class token (eq. 4), or the mean over the patches (app. D.3)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of every sublayer's output, inside the feed-forward networks, and of patches plus positions."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of attention weights."""
    stochastic_depth: float = Field(0.0, ge=0, lt=1)
    """Stochastic depth (Huang et al. 2016): drop probability of the last layer's sublayers, rising linearly
    from 0 at the first."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Label smoothing, epsilon (Szegedy et al. 2016, sec. 7)."""
    norm_epsilon: PositiveFloat = 1e-6
    """Epsilon added to the variance in layer norms; the default is that of the authors' code
    (github.com/google-research/vision_transformer)."""
    initialisation: Literal["xavier", "lecun", "normal"] = "xavier"
    """Initialisation of matrices: Glorot and Bengio 2010, LeCun et al. 1998, or N(0, 0.02^2). The classifier
    starts from zeros."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.d_model % self.num_heads:
            raise ValueError(f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}")
        if self.picture_size % self.patch_size:
            raise ValueError(
                f"picture_size {self.picture_size} is not a multiple of patch_size {self.patch_size}"
            )
        if self.stem == "convolutional" and self.patch_size.bit_count() != 1:
            raise ValueError(
                f'stem = "convolutional" needs a patch_size that is a power of 2, not {self.patch_size}'
            )
        if is_reversible(self) and self.stochastic_depth:
            raise ValueError("stochastic_depth skips sublayers, which reversible layers (reformer) cannot")
        return self

    @property
    def grid(self) -> int:
        """Number of rows, and of columns, of patches."""
        return self.picture_size // self.patch_size


class VisionTransformer(nn.Module):
    """Maps pictures to logits of classes: patches, pre-norm encoder, linear classifier (figure 1)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        reversible = is_reversible(s)
        self.encoder = (ReversibleStack if reversible else TransformerEncoder)(
            s.num_layers,
            s.d_model,
            attention=self_attention(
                s,
                s.d_model,
                s.num_heads,
                dropout=s.attention_dropout,
                length=s.grid**2 + (s.pooling == "class"),
                causal=False,
            ),
            feed_forward=feed_forward(s, s.d_model, s.d_ff, "gelu", s.dropout),
            residual=PreNorm if reversible else StochasticPreNorm,
            dropout=s.dropout,
        )
        set_drop_probabilities(self.encoder, s.stochastic_depth)
        initialise(self, s.initialisation)
        if s.stem == "linear":
            self.patches: nn.Module = LinearPatches(s.patch_size, s.channels, s.d_model)
        else:
            self.patches = ConvolutionalPatches(s.patch_size, s.channels, s.d_model, s.stem_width)
        initialise(self.patches, "lecun")
        self.positions = PatchPositions(s.grid, s.grid, s.d_model)
        # The class token includes its position vector: two vectors that are always added are one.
        self.class_token = nn.Parameter(torch.zeros(s.d_model)) if s.pooling == "class" else None
        self.dropout = Dropout(s.dropout)
        self.classifier = nn.Linear(s.d_model, s.classes)
        nn.init.zeros_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)
        set_epsilon(self, s.norm_epsilon)

    @property
    def capturable(self) -> bool:
        """True if the loss is a fixed sequence of kernels for each batch shape (``training.cuda_graphs``)."""
        return self.settings.attention == "full"

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """Logits of the classes, (B, classes).

        Args:
            pixels_BChw: from 0 (black) to 1; height and width are multiples of ``patch_size``. Positions are
                interpolated unless both are ``picture_size``.
        """
        logits_BK: Tensor = self.classifier(self.read(pixels_BChw))
        return logits_BK

    def read(self, pixels_BChw: Tensor) -> Tensor:
        """The classifier's input, (B, d_model): the class token's output, or the mean over the patches'."""
        rows, columns = (size // self.settings.patch_size for size in pixels_BChw.shape[2:])
        # As published, pixels are rescaled from 0..1 to -1..1.
        x_BPd = self.positions(self.patches(2 * pixels_BChw - 1), rows, columns)
        if self.class_token is not None:
            token_B1d = self.class_token.to(x_BPd.dtype).expand(len(x_BPd), 1, -1)
            x_BPd = torch.cat([token_B1d, x_BPd], dim=1)
        read_BPd: Tensor = self.encoder(self.dropout(x_BPd))
        return read_BPd[:, 0] if self.class_token is not None else read_BPd.mean(dim=1)

    def loss(self, batch: PictureBatch, step: int) -> Loss:
        """Cross-entropy per picture; negative log-likelihood and accuracy as metrics."""
        return soft_label_loss(self(batch.pixels_BChw), batch, self.settings.label_smoothing)

    def taken_from(self, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the reusable weights of a pretrained model, for fine-tuning (sec. 3.2).

        The classifier is reused if the number of classes agrees. Positions are interpolated to this model's
        pictures.
        """
        own = self.state_dict()
        fits = all(trained[name].shape == own[name].shape for name in CLASSIFIER if name in trained)
        taken = {name: weight for name, weight in trained.items() if fits or name not in CLASSIFIER}
        table_Pd, grid = trained.get(POSITIONS), self.settings.grid
        side = 0 if table_Pd is None else math.isqrt(len(table_Pd))
        if table_Pd is not None and side**2 == len(table_Pd) and side != grid:
            taken[POSITIONS] = resized(table_Pd, (side, side), (grid, grid))
        return taken


Model = VisionTransformer
