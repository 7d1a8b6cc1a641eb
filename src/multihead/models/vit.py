"""The Vision Transformer, "An Image is Worth 16x16 Words" (Dosovitskiy et al. 2021).

``VisionTransformer(Settings())`` is the paper's ViT-Base with patches of 16 x 16 (Table 1).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import ImageBatch
from multihead.models._attention import EncoderAttentionSettings, feed_forward, is_reversible, self_attention
from multihead.models._vision import PatchSettings, VisionSettings
from multihead.nn import FeedForward, MultiHeadAttention, PreNorm, TransformerEncoder, description
from multihead.nn.description import ImageSpec, StackSpec, UndescribedError, describe
from multihead.nn.initialisation import initialise
from multihead.nn.losses import Loss
from multihead.nn.modules import Dropout, set_epsilon
from multihead.nn.parts.patch_positions import PatchPositions, resize
from multihead.nn.parts.patches import ConvolutionalPatches, LinearPatches
from multihead.nn.parts.pooling import ClassPooling, MeanPooling
from multihead.nn.parts.registers import PatchDropout, Registers
from multihead.nn.parts.reversible import ReversibleStack
from multihead.nn.parts.soft_labels import soft_label_loss
from multihead.nn.parts.stochastic_depth import StochasticPreNorm, set_drop_probabilities

TASK = "images"
CLASSIFIER, POSITIONS = ("classifier.weight", "classifier.bias"), "positions.weight"


class Settings(PatchSettings, EncoderAttentionSettings):
    """Settings of the Vision Transformer; the defaults are ViT-B/16."""

    stem: Literal["linear", "convolutional"] = "linear"
    """Patch embedding: a linear projection (eq. 1), or a few convolutions (the hybrid of sec. 3.1; Xiao et
    al. 2021), which learn from fewer images and need a patch_size that is a power of 2."""
    stem_width: PositiveInt = 16
    """Channels of the first convolution (stem = "convolutional"), doubled wherever the image is halved."""
    pooling: Literal["class", "mean"] = "class"
    """Input of the classifier: a class token (eq. 4), or the mean over the patches (app. D.3)."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.stem == "convolutional" and self.patch_size.bit_count() != 1:
            raise ValueError(
                f'stem = "convolutional" needs a patch_size that is a power of 2, not {self.patch_size}'
            )
        if is_reversible(self) and self.stochastic_depth:
            raise ValueError("stochastic_depth skips sublayers, which reversible layers (reformer) cannot")
        return self


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a vision transformer around its encoder, each made when it is needed.

    Attributes:
        patches: embeds images, (B, C, h, w) to (B, P, d_model); its ``grid(h, w)`` is (rows, columns).
        positions: ``forward(x_BPd, rows, columns)`` adds positions to the patches.
        pool: ``forward(x_BNd)`` reduces the encoder's output to the classifier's input, (B, d_model); its
            ``shares`` are the weights of the N tokens in it.
        score: the attention of one head; None: scaled dot-product.
        attention: a layer's attention, whatever its score; None: ``MultiHeadAttention`` with the score.
        feed_forward: a layer's feed-forward network; None: as published.
        reversible: whether the layers are reversible (``nn.reversible``).
        capturable: whether the loss is a fixed sequence of kernels for each batch shape.
        class_token: whether a class token precedes the patches.
        registers: number of register tokens before the patches (Darcet et al. 2024).
    """

    patches: Callable[[], nn.Module]
    positions: Callable[[], nn.Module]
    pool: Callable[[], nn.Module]
    score: Callable[[], nn.Module] | None = None
    attention: Callable[[], MultiHeadAttention] | None = None
    feed_forward: Callable[[], FeedForward] | None = None
    reversible: bool = False
    capturable: bool = True
    class_token: bool = False
    registers: int = 0


def paper_parts(s: Settings, registers: int = 0) -> Parts:
    """The parts of the paper: patches by a projection or by convolutions, a class token or the mean patch."""
    class_token = s.pooling == "class"

    def patches() -> nn.Module:
        if s.stem == "linear":
            return LinearPatches(s.patch_size, s.channels, s.d_model)
        return ConvolutionalPatches(s.patch_size, s.channels, s.d_model, s.stem_width)

    return Parts(
        patches,
        positions=lambda: PatchPositions(s.grid, s.grid, s.d_model),
        pool=ClassPooling if class_token else lambda: MeanPooling(skip=registers),
        attention=self_attention(
            s,
            s.d_model,
            s.num_heads,
            dropout=s.attention_dropout,
            length=s.grid**2 + registers + class_token,
            causal=False,
        ),
        feed_forward=feed_forward(s, s.d_model, s.d_ff, "gelu", s.dropout),
        reversible=is_reversible(s),
        capturable=s.attention == "full",
        class_token=class_token,
        registers=registers,
    )


class VisionTransformer(nn.Module):
    """Maps images to logits of classes: patches, pre-norm encoder, linear classifier (figure 1).

    Args:
        settings: sizes of the encoder.
        parts: what surrounds the encoder; None: as published, for ``Settings`` of this file.
    """

    def __init__(self, settings: VisionSettings, parts: Parts | None = None) -> None:
        super().__init__()
        s = self.settings = settings
        if parts is None:
            assert isinstance(s, Settings)
            parts = paper_parts(s)
        score = parts.score
        self.capturable = parts.capturable  # see ``training.cuda_graphs``
        self.encoder = (ReversibleStack if parts.reversible else TransformerEncoder)(
            s.num_layers,
            s.d_model,
            attention=parts.attention
            or (
                lambda: MultiHeadAttention(
                    s.d_model, s.num_heads, dropout=s.attention_dropout, score=score and score()
                )
            ),
            feed_forward=parts.feed_forward
            or (lambda: FeedForward(s.d_model, s.d_ff, activation="gelu", dropout=s.dropout)),
            residual=PreNorm if parts.reversible else StochasticPreNorm,
            dropout=s.dropout,
        )
        set_drop_probabilities(self.encoder, s.stochastic_depth)
        initialise(self, s.initialisation)
        self.patches = parts.patches()
        initialise(self.patches, "lecun")
        self.positions = parts.positions()
        # The class token includes its position vector: two vectors that are always added are one.
        self.class_token = nn.Parameter(torch.zeros(s.d_model)) if parts.class_token else None
        self.registers = Registers(parts.registers, s.d_model) if parts.registers else None
        self.patch_dropout = PatchDropout(s.patch_dropout)
        self.pool = parts.pool()
        self.dropout = Dropout(s.dropout)
        self.classifier = nn.Linear(s.d_model, s.classes)
        nn.init.zeros_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)
        set_epsilon(self, s.norm_epsilon)

    @property
    def before(self) -> int:
        """Number of tokens before the patches: class token and registers."""
        registers = 0 if self.registers is None else len(self.registers.weight_Rd)
        return registers + (self.class_token is not None)

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """Logits of the classes, (B, classes).

        Args:
            pixels_BChw: from 0 (black) to 1; height and width are multiples of a patch's. Positions are
                interpolated unless both are ``image_size``.
        """
        logits_BK: Tensor = self.classifier(self.read(pixels_BChw))
        return logits_BK

    def read(self, pixels_BChw: Tensor) -> Tensor:
        """The classifier's input, (B, d_model): the class token's output, or a mean over the patches'."""
        rows, columns = self.patches.grid(*pixels_BChw.shape[2:])  # type: ignore[operator]
        # As published, pixels are rescaled from 0..1 to -1..1.
        x_BNd = self.positions(self.patches(2 * pixels_BChw - 1), rows, columns)
        x_BNd = self.patch_dropout(x_BNd)
        if self.registers is not None:
            x_BNd = self.registers(x_BNd)
        if self.class_token is not None:
            token_B1d = self.class_token.to(x_BNd.dtype).expand(len(x_BNd), 1, -1)
            x_BNd = torch.cat([token_B1d, x_BNd], dim=1)
        read_Bd: Tensor = self.pool(self.encoder(self.dropout(x_BNd)))
        return read_Bd

    def describe(self) -> ImageSpec:
        """The description that exports read."""
        patches, positions, pool = self.patches, self.positions, self.pool
        if type(patches) is not LinearPatches or type(positions) is not PatchPositions:
            raise UndescribedError("the patches or their positions are not those of the paper")
        if positions.rows != positions.columns:
            raise UndescribedError("the images are not square")
        if type(pool) is MeanPooling and pool.skip != self.before:
            raise UndescribedError("the mean includes tokens that are not patches")
        if type(pool) not in (ClassPooling, MeanPooling):
            raise UndescribedError(f"{type(pool).__name__} is neither a class token nor a mean")
        token = () if self.class_token is None else (self.class_token,)
        registers = () if self.registers is None else (self.registers.weight_Rd,)
        return ImageSpec(
            description.describe_linear(patches.project),
            patches.size,
            self.settings.channels,
            positions.rows,
            positions.weight,
            (*token, *registers),
            describe(self.encoder, StackSpec),
            "class" if type(pool) is ClassPooling else "mean",
            description.describe_linear(self.classifier),
        )

    def loss(self, batch: ImageBatch, step: int) -> Loss:
        """Cross-entropy per image; negative log-likelihood and accuracy as metrics."""
        return soft_label_loss(self(batch.pixels_BChw), batch, self.settings.label_smoothing)

    def taken_from(self, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the reusable weights of a pretrained model, for fine-tuning (sec. 3.2).

        The classifier is reused if the number of classes agrees. Positions are interpolated to this model's
        images.
        """
        weights = self.state_dict()
        fits = all(trained[name].shape == weights[name].shape for name in CLASSIFIER if name in trained)
        copied = {name: weight for name, weight in trained.items() if fits or name not in CLASSIFIER}
        table_Pd, grid = trained.get(POSITIONS), self.settings.grid
        side = 0 if table_Pd is None else math.isqrt(len(table_Pd))
        if table_Pd is not None and side**2 == len(table_Pd) and side != grid:
            copied[POSITIONS] = resize(table_Pd, (side, side), (grid, grid))
        return copied


Model = VisionTransformer
