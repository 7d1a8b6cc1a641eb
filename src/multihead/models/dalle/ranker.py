"""A small contrastive text-image model that ranks samples, in CLIP's role (Ramesh et al. 2021, sec. 2.6).

CLIP: Radford et al. 2021.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import FeedForward, MultiHeadAttention, PreNorm, TransformerEncoder, masks
from multihead.nn.initialisation import initialise
from multihead.nn.parts.patch_positions import PatchPositions
from multihead.nn.parts.patches import LinearPatches


class Ranker(nn.Module):
    """A text encoder and an image encoder with a shared embedding space: matching pairs are close.

    Args:
        vocab_size: size of the text vocabulary.
        text_length: maximum length of a text in tokens.
        channels: channels of the images.
        image_size: their height and width.
        patch_size: height and width of a patch.
        d_model: width of both encoders.
        num_layers: layers of each encoder.
        num_heads: attention heads of each encoder.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        text_length: int,
        channels: int,
        image_size: int,
        patch_size: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
    ) -> None:
        super().__init__()

        def encoder() -> TransformerEncoder:
            return TransformerEncoder(
                num_layers,
                d_model,
                attention=lambda: MultiHeadAttention(d_model, num_heads),
                feed_forward=lambda: FeedForward(d_model, 4 * d_model, activation="gelu"),
                residual=PreNorm,
            )

        self.text_encoder, self.image_encoder = encoder(), encoder()
        initialise(self, "xavier")
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.text_positions = nn.Parameter(torch.randn(text_length, d_model) * 0.02)
        self.patches = LinearPatches(patch_size, channels, d_model)
        self.grid = image_size // patch_size
        self.positions = PatchPositions(self.grid, self.grid, d_model)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def text(self, text_BT: Tensor, lengths_B: Tensor) -> Tensor:
        """Embed texts as unit vectors, (B, d_model)."""
        T = text_BT.shape[1]
        real = masks.padding(lengths_B.clamp_min(1), T)
        x_BTd = self.text_encoder(self.embedding(text_BT) + self.text_positions[:T], real)
        real_BT1 = real[:, 0, 0, :, None]
        return F.normalize((x_BTd * real_BT1).sum(dim=1).float(), dim=-1)

    def image(self, pixels_BChw: Tensor) -> Tensor:
        """Embed images as unit vectors, (B, d_model)."""
        x_BPd = self.positions(self.patches(2 * pixels_BChw - 1), self.grid, self.grid)
        return F.normalize(self.image_encoder(x_BPd).mean(dim=1).float(), dim=-1)

    def loss(self, text_BT: Tensor, lengths_B: Tensor, pixels_BChw: Tensor) -> tuple[Tensor, Tensor]:
        """Symmetric contrastive cross-entropy within the batch, and the number of top-1 matches.

        Both are summed over the batch (Radford et al. 2021, fig. 3).
        """
        # At most 100, as published, so that training stays stable.
        scale = self.log_scale.clamp(max=math.log(100)).exp()
        scores_BB = scale * self.text(text_BT, lengths_B) @ self.image(pixels_BChw).T
        partner_B = torch.arange(len(scores_BB), device=scores_BB.device)
        both = [F.cross_entropy(scores, partner_B, reduction="sum") for scores in (scores_BB, scores_BB.T)]
        return (both[0] + both[1]) / 2, (scores_BB.argmax(dim=1) == partner_B).sum()
