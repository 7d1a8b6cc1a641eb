"""A small model that says how well a text goes with a picture, in CLIP's role (Radford et al. 2021; Ramesh et
al. 2021, sec. 2.6)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import FeedForward, MultiHeadAttention, PreNorm, TransformerEncoder, masks
from multihead.nn.initialisation import initialise
from multihead.nn.patches import LinearPatches, PatchPositions


class Ranker(nn.Module):
    """Two encoders, of text and of pictures, whose outputs point the same way where the two go together.

    Args:
        vocab_size: text tokens.
        text_length: most tokens of a text.
        channels: of pictures.
        picture_size: their height and width.
        patch_size: of the picture's encoder.
        d_model: width of both.
        num_layers: layers of both.
        num_heads: attention heads of both.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        text_length: int,
        channels: int,
        picture_size: int,
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

        self.text_encoder, self.picture_encoder = encoder(), encoder()
        initialise(self, "xavier")
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.text_positions = nn.Parameter(torch.randn(text_length, d_model) * 0.02)
        self.patches = LinearPatches(patch_size, channels, d_model)
        self.grid = picture_size // patch_size
        self.positions = PatchPositions(self.grid, self.grid, d_model)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def text(self, text_BT: Tensor, lengths_B: Tensor) -> Tensor:
        """What a text is about, a vector of length 1, (B, d_model)."""
        T = text_BT.shape[1]
        real = masks.padding(lengths_B.clamp_min(1), T)
        x_BTd = self.text_encoder(self.embedding(text_BT) + self.text_positions[:T], real)
        real_BT1 = real[:, 0, 0, :, None]
        return F.normalize((x_BTd * real_BT1).sum(dim=1).float(), dim=-1)

    def picture(self, pixels_BChw: Tensor) -> Tensor:
        """What a picture shows, a vector of length 1, (B, d_model)."""
        x_BPd = self.positions(self.patches(2 * pixels_BChw - 1), self.grid, self.grid)
        return F.normalize(self.picture_encoder(x_BPd).mean(dim=1).float(), dim=-1)

    def loss(self, text_BT: Tensor, lengths_B: Tensor, pixels_BChw: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy of finding each one's partner among the batch, both ways, and how often it is found.

        Both are summed over the batch (Radford et al. 2021, fig. 3).
        """
        # At most 100, as published, so that training stays stable.
        scale = self.log_scale.clamp(max=math.log(100)).exp()
        scores_BB = scale * self.text(text_BT, lengths_B) @ self.picture(pixels_BChw).T
        partner_B = torch.arange(len(scores_BB), device=scores_BB.device)
        both = [F.cross_entropy(scores, partner_B, reduction="sum") for scores in (scores_BB, scores_BB.T)]
        return (both[0] + both[1]) / 2, (scores_BB.argmax(dim=1) == partner_B).sum()
