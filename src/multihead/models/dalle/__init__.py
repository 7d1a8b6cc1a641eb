"""DALL-E, "Zero-Shot Text-to-Image Generation" (Ramesh et al. 2021), trained in two stages.

For the first ``dvae_steps`` updates, a discrete VAE learns to encode an image as a grid of codes. Then it is
frozen, and a decoder learns to predict the codes that follow a text. Together with the decoder, a small
contrastive model learns to match texts with images; it ranks samples.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import CaptionBatch
from multihead.models.dalle.decoder import ImageDecoder
from multihead.models.dalle.dvae import DiscreteVAE, kl_to_uniform, kl_weight, temperature
from multihead.models.dalle.ranker import Ranker
from multihead.nn.losses import Loss, LossTerm
from multihead.nn.parts.sparse_layouts import Kind
from multihead.recipe import settings
from multihead.recipe.settings import FirstStage

TASK = "drawing"
MAX_TOKENS = 8192
"""Most tokens of text and image together (the paper: 1,280): masks of layouts grow quadratically."""


class Settings(settings.Settings):
    """Settings of DALL-E; the defaults suit small images and an ordinary machine."""

    vocab_size: PositiveInt = 1000
    """Size of the text vocabulary; set by the tokenizer."""
    text_length: PositiveInt = 16
    """Maximum length of a caption in tokens; set by the data."""
    image_size: PositiveInt = 32
    """Height and width of the images; set by the data."""
    channels: Literal[1, 3] = 3
    """1 for greyscale images, 3 for colour; set by the data."""
    dvae_steps: PositiveInt = 2000
    """Updates of the first stage, which trains the discrete VAE."""
    dvae_learning_rate: float = Field(0.0, ge=0)
    """Peak learning rate of the first stage; it decays to 0 by a cosine (the paper: to 1/80 of the peak, app.
    A.2), and the recipe's schedule starts with the second stage; 0: one schedule for both stages."""
    codes: PositiveInt = 128
    """Codebook size of the discrete VAE, K (the paper: 8192)."""
    d_code: PositiveInt = 64
    """Width of the codebook's vectors."""
    dvae_width: PositiveInt = 64
    """Channels of the discrete VAE's convolutions."""
    dvae_halvings: PositiveInt = 2
    """Downsampling steps: a code covers 2^dvae_halvings pixels in each direction (the paper: 3)."""
    dvae_blocks: NonNegativeInt = 2
    """Residual blocks of the discrete VAE's decoder."""
    encoder_blocks: NonNegativeInt = 0
    """Residual blocks of the discrete VAE's encoder; with 0, a code depends on its own patch alone."""
    lowest_temperature: float = Field(1 / 16, gt=0, le=1)
    """Final temperature of the Gumbel softmax, annealed from 1 in the first stage (app. A.2)."""
    kl_weight: float = Field(1e-4, ge=0)
    """Final weight of the codes' KL divergence from uniform, raised from 0; the reconstruction loss is the
    squared error (the paper: logit-Laplace, app. A.3)."""
    d_model: PositiveInt = 128
    """Width of the decoder."""
    num_layers: PositiveInt = 4
    """Number of decoder layers (the paper: 64)."""
    num_heads: PositiveInt = 4
    """Number of attention heads."""
    attention: Literal["sparse", "full"] = "sparse"
    """Attention of the decoder's layers: sparse (row, column, row, row and so on, the last convolutional,
    app. B.1), or full causal attention."""
    kernel: PositiveInt = 11
    """Height and width of the convolutional layout; odd."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of the decoder's sublayers and embeddings."""
    text_weight: float = Field(1 / 8, ge=0, le=1)
    """Weight of the text loss; the image loss has the rest (the paper: 1/8 and 7/8)."""
    caption_dropout: float = Field(0.1, ge=0, lt=1)
    """Probability of dropping a caption in training, for classifier-free guidance (Ho and Salimans 2022)."""
    ranker_width: PositiveInt = 64
    """Width of the model that ranks samples."""
    ranker_layers: PositiveInt = 2
    """Layers of the ranking model's text encoder, and of its image encoder."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.d_model % self.num_heads:
            raise ValueError(f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}")
        if self.ranker_width % self.num_heads:
            raise ValueError(
                f"ranker_width {self.ranker_width} is not a multiple of num_heads {self.num_heads}"
            )
        if self.image_size % self.patch:
            raise ValueError(f"image_size {self.image_size} cannot be halved {self.dvae_halvings} times")
        if (tokens := self.text_length + self.grid**2) > MAX_TOKENS:
            raise ValueError(
                f"text_length {self.text_length} and image_size {self.image_size} make {tokens:,} "
                f"tokens; at most {MAX_TOKENS:,} are possible (a larger dvae_halvings makes fewer codes)"
            )
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel {self.kernel} is even; it must be odd")
        return self

    @property
    def patch(self) -> int:
        """Height and width of a code's patch, in pixels."""
        return 1 << self.dvae_halvings

    @property
    def grid(self) -> int:
        """Number of rows, and of columns, of codes."""
        return self.image_size // self.patch

    @property
    def layouts(self) -> list[Kind]:
        """The attention layouts of the decoder's layers."""
        if self.attention == "full":
            return ["full"] * self.num_layers
        kinds: list[Kind] = ["column" if layer % 4 == 1 else "row" for layer in range(self.num_layers)]
        return [*kinds[:-1], "convolution"]


class DALLE(nn.Module):
    """The discrete VAE, the decoder, and the ranker."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        self.dvae = DiscreteVAE(
            s.channels, s.codes, s.d_code, s.dvae_width, s.dvae_halvings, s.dvae_blocks, s.encoder_blocks
        )
        self.decoder = ImageDecoder(
            vocab_size=s.vocab_size,
            text_length=s.text_length,
            codes=s.codes,
            grid=s.grid,
            d_model=s.d_model,
            num_layers=s.num_layers,
            num_heads=s.num_heads,
            dropout=s.dropout,
            layouts=s.layouts,
            kernel=s.kernel,
        )
        self.ranker = Ranker(
            vocab_size=s.vocab_size,
            text_length=s.text_length,
            channels=s.channels,
            image_size=s.image_size,
            patch_size=s.patch,
            d_model=s.ranker_width,
            num_layers=s.ranker_layers,
            num_heads=s.num_heads,
        )

    @property
    def first(self) -> FirstStage | None:
        """The first stage, if it has its own learning rate."""
        s = self.settings
        return FirstStage(s.dvae_steps, s.dvae_learning_rate) if s.dvae_learning_rate else None

    def loss(self, batch: CaptionBatch, step: int) -> Loss:
        """The first stage's loss up to ``dvae_steps``, then the second's."""
        if step <= self.settings.dvae_steps:
            return self.first_stage(batch, step)
        return self.second_stage(batch)

    def first_stage(self, batch: CaptionBatch, step: int) -> Loss:
        """Squared error per value ("loss"), KL divergence per code; codebook usage as a metric."""
        s = self.settings
        pixels, logits = self.dvae(batch.pixels_BChw, temperature(step, s.dvae_steps, s.lowest_temperature))
        used = logits.detach().argmax(dim=1).flatten().bincount(minlength=s.codes).count_nonzero()
        images = len(batch.pixels_BChw)
        error = F.mse_loss(pixels, batch.pixels_BChw, reduction="sum") / batch.pixels_BChw[0].numel()
        weight = kl_weight(step, s.dvae_steps, s.kl_weight)
        return {
            "loss": LossTerm(1.0, error, per="images"),
            "kl": LossTerm(weight, kl_to_uniform(logits) / s.grid**2, per="images"),
            # Weighted by the number of images, so that the reported value is a mean over batches.
            "codes_used": LossTerm(0.0, used * images / s.codes, per="images"),
        }

    def second_stage(self, batch: CaptionBatch) -> Loss:
        """Cross-entropy per text token and per code ("loss"), the ranker's loss; accuracies as metrics."""
        s = self.settings
        with torch.no_grad():
            codes_Bn = self.dvae.codes(batch.pixels_BChw)
        conditioned_B = torch.rand(len(codes_Bn), device=codes_Bn.device) >= (
            s.caption_dropout if self.training else 0
        )
        lengths_B = batch.lengths_B * conditioned_B
        text_BTV, code_BnK = self.decoder(batch.text_BT, lengths_B, codes_Bn)
        real_BT = torch.arange(batch.text_BT.shape[1], device=codes_Bn.device) < lengths_B[:, None]
        text = F.cross_entropy(
            text_BTV[:, : batch.text_BT.shape[1]][real_BT].float(), batch.text_BT[real_BT], reduction="sum"
        )
        code = F.cross_entropy(code_BnK.flatten(0, 1).float(), codes_Bn.flatten(), reduction="sum")
        ranking, top_1 = self.ranker.loss(batch.text_BT, batch.lengths_B, batch.pixels_BChw)
        correct = (code_BnK.detach().argmax(dim=-1) == codes_Bn).sum() / codes_Bn.shape[1]
        return {
            "text": LossTerm(s.text_weight, text, per="text_tokens"),
            "loss": LossTerm(1 - s.text_weight, code / codes_Bn.shape[1], per="images"),
            "ranking": LossTerm(1.0, ranking, per="images"),
            "accuracy": LossTerm(0.0, correct, per="images"),
            "ranked_first": LossTerm(0.0, top_1, per="images"),
        }

    @property
    def columns(self) -> int:
        """Number of columns of codes."""
        return self.settings.grid

    def codes(self, pixels_BChw: Tensor) -> Tensor:
        """Encode images as codes, row by row, (B, n)."""
        return self.dvae.codes(pixels_BChw)

    def pixels(self, codes_Bn: Tensor) -> Tensor:
        """Decode codes into images, (B, channels, height, width), from 0 to 1."""
        return self.dvae.pixels(codes_Bn, self.columns)


Model = DALLE
