"""The discrete VAE: encodes an image as a grid of codes, and decodes it (Ramesh et al. 2021, sec. 2.1)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LOGIT_GAIN = 5.0
"""Scales torch's initial weights of the encoder's last layer. If all codes start equally probable, a few take
over and the others are never used. Of 1, 5 and 20, this value reconstructs best."""


class DiscreteVAE(nn.Module):
    """Convolutional encoder, codebook, and convolutional decoder.

    Args:
        channels: channels of the images, 1 or 3.
        codes: K, size of the codebook.
        d_code: width of the codebook's vectors.
        width: channels of the convolutions.
        halvings: downsampling steps; a code covers ``2 ** halvings`` pixels in each direction.
        blocks: residual blocks of the decoder.
        encoder_blocks: residual blocks of the encoder; with 0, a code depends on its own patch alone.
    """

    def __init__(
        self,
        channels: int,
        codes: int,
        d_code: int,
        width: int,
        halvings: int,
        blocks: int,
        encoder_blocks: int,
    ) -> None:
        super().__init__()
        down: list[nn.Module] = []
        up: list[nn.Module] = []
        for number in range(halvings):
            down += [nn.Conv2d(width if number else channels, width, 2, stride=2), nn.ReLU()]
            up += [nn.ConvTranspose2d(width, width, 2, stride=2), nn.ReLU()]
        self.encoder = nn.Sequential(
            *down, *(DvaeBlock(width) for _ in range(encoder_blocks)), nn.Conv2d(width, codes, 1)
        )
        self.codebook = nn.Embedding(codes, d_code)
        self.decoder = nn.Sequential(
            nn.Conv2d(d_code, width, 1),
            *(DvaeBlock(width) for _ in range(blocks)),
            *up,
            nn.Conv2d(width, channels, 3, padding=1),
        )
        for part in self.modules():
            if isinstance(part, nn.Conv2d | nn.ConvTranspose2d) and part is not self.encoder[-1]:
                # With torch's smaller weights, all patches start out alike and some codes are never used.
                nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
                nn.init.zeros_(part.bias)  # type: ignore[arg-type]
        with torch.no_grad():
            self.encoder[-1].weight.mul_(LOGIT_GAIN)  # type: ignore[operator]

    def logits(self, pixels_BChw: Tensor) -> Tensor:
        """Logits of the codes, (B, K, rows, columns)."""
        logits: Tensor = self.encoder(2 * pixels_BChw - 1)
        return logits

    def codes(self, pixels_BChw: Tensor) -> Tensor:
        """The most probable codes, row by row, (B, rows * columns)."""
        return self.logits(pixels_BChw).argmax(dim=1).flatten(1)

    def pixels(self, codes_Bn: Tensor, columns: int) -> Tensor:
        """Decode codes into images, (B, channels, height, width), from 0 to 1."""
        vectors = self.codebook(codes_Bn).mT
        return self._decode(vectors.unflatten(2, (-1, columns))).clamp(0, 1)

    def forward(self, pixels_BChw: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """Reconstruct images through relaxed codes; return them and the codes' logits.

        A relaxed code is softmax((logits + g) / temperature), g from Gumbel(0, 1) (Jang et al. 2017, eq. 2).
        """
        logits_BKrc = self.logits(pixels_BChw)
        # In float32: at a low temperature, small differences between the noisy logits decide.
        soft_BKrc = F.gumbel_softmax(logits_BKrc.float(), tau=temperature, dim=1)
        vectors = torch.einsum(
            "bkrc,kd->bdrc", soft_BKrc.to(self.codebook.weight.dtype), self.codebook.weight
        )
        return self._decode(vectors), logits_BKrc

    def _decode(self, vectors_Bdrc: Tensor) -> Tensor:
        pixels: Tensor = self.decoder(vectors_Bdrc)
        return (pixels.float() + 1) / 2


class DvaeBlock(nn.Module):
    """x + conv(relu(conv(relu(x)))), 3 x 3 and 1 x 1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        out: Tensor = x + self.inner(x)
        return out


def kl_to_uniform(logits_BKrc: Tensor) -> Tensor:
    """KL divergence of the codes' distributions from uniform, summed over batch and grid; a scalar."""
    log_q = logits_BKrc.float().log_softmax(dim=1)
    return (log_q.exp() * (log_q + math.log(logits_BKrc.shape[1]))).sum()


def temperature(step: int, steps: int, lowest: float) -> float:
    """Gumbel softmax temperature, annealed from 1 to ``lowest`` by a half cosine over ``steps`` updates.

    The paper anneals over a twentieth of its updates (app. A.2).
    """
    done = min(1.0, step / max(1, steps))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * done)) / 2


def kl_weight(step: int, steps: int, highest: float) -> float:
    """Weight of the KL term, raised from 0 to ``highest`` by a half cosine over ``steps`` updates.

    The paper raises it to 6.6 over 5,000 updates (app. A.2).
    """
    done = min(1.0, step / max(1, steps))
    return highest * (1 - math.cos(math.pi * done)) / 2
