"""A plain convolutional detector without anchors or suppression: "Objects as Points" (Zhou et al. 2019).

The baseline of DETR: the same stem, then convolutions that predict at each place of the feature map whether
an object of a class has its centre there, and its box.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from pydantic import PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import SceneBatch
from multihead.models._detection import DetectorSettings
from multihead.nn.losses import Loss, LossTerm
from multihead.nn.parts.boxes import edges
from multihead.nn.parts.residual_stem import ResidualBlock, ResidualStem

TASK = "detection"
PRIOR = -4.6
"""Initial logit of a centre, log(0.01 / 0.99) (Lin et al. 2017, sec. 4.1)."""


class Settings(DetectorSettings):
    """Settings of the convolutional detector."""

    upsamplings: int = 1
    """Doublings of the feature map before the prediction: close centres fall into different cells."""
    width: PositiveInt = 128
    """Channels of the blocks after the stem."""
    blocks: PositiveInt = 4
    """Number of residual blocks after the stem."""
    detections: PositiveInt = 16
    """Number of detections in an image: the highest peaks."""
    box_weight: PositiveFloat = 2.0
    """Weight of the L1 distance of boxes, as a multiple of the feature map's stride, in the loss."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if not 0 <= self.upsamplings < self.patch_size.bit_length():
            raise ValueError(f"upsamplings {self.upsamplings} is not from 0 to log2(patch_size)")
        return self


class ConvDetector(nn.Module):
    """Maps images to a heat map of centres for each class, and to a box at each place."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        self.stem = ResidualStem(s.patch_size, s.channels, s.stem_width)
        blocks: list[nn.Module] = [ResidualBlock(self.stem.width, s.width, 1)]
        blocks += [ResidualBlock(s.width, s.width, 1) for _ in range(s.blocks - 1)]
        for _ in range(s.upsamplings):
            blocks += [nn.Upsample(scale_factor=2, mode="nearest"), ResidualBlock(s.width, s.width, 1)]
        self.blocks = nn.Sequential(*blocks)
        self.output = nn.Conv2d(s.width, s.classes + 4, 1)
        nn.init.normal_(self.output.weight, std=0.01)
        nn.init.zeros_(self.output.bias)  # type: ignore[arg-type]
        nn.init.constant_(self.output.bias[: s.classes], PRIOR)  # type: ignore[index]

    def forward(self, pixels_BChw: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of centres, (B, K, r, c), and distances of the four edges from each place, (B, 4, r, c).

        Distances are in steps of the feature map, and positive: left, top, right, bottom.
        """
        out = self.output(self.blocks(self.stem(2 * pixels_BChw - 1))).float()
        return out[:, :-4], F.softplus(out[:, -4:])

    def taken_from(self, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the reusable weights of a trained detector: all but the outputs of other classes."""
        taken = dict(trained)
        for name, mine in self.output.state_dict(prefix="output.").items():
            theirs = trained.get(name, mine)
            if theirs.shape != mine.shape and theirs.shape[1:] == mine.shape[1:]:
                taken[name] = torch.cat([mine[:-4], theirs[-4:]])
        return taken

    def detect(self, pixels_BChw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The highest peaks: edges from 0 to 1, (B, N, 4), scores (B, N), and classes (B, N).

        A peak is higher than the eight places around it (Zhou et al. 2019, sec. 4.1).
        """
        logits_BKrc, sides_B4rc = self(pixels_BChw)
        peaks = F.max_pool2d(logits_BKrc, 3, stride=1, padding=1) == logits_BKrc
        scores_BKrc = logits_BKrc.sigmoid() * peaks
        rows, columns = scores_BKrc.shape[2:]
        count = min(self.settings.detections, scores_BKrc[0].numel())
        scores_BN, flat_BN = scores_BKrc.flatten(1).topk(count)
        classes_BN, cells_BN = flat_BN // (rows * columns), flat_BN % (rows * columns)
        index_B4N = cells_BN[:, None].expand(-1, 4, -1)
        sides_BN4 = sides_B4rc.flatten(2).gather(2, index_B4N).mT
        x_BN, y_BN = cells_BN % columns + 0.5, cells_BN // columns + 0.5
        detections = torch.stack(
            [
                (x_BN - sides_BN4[..., 0]) / columns,
                (y_BN - sides_BN4[..., 1]) / rows,
                (x_BN + sides_BN4[..., 2]) / columns,
                (y_BN + sides_BN4[..., 3]) / rows,
            ],
            dim=-1,
        )
        return detections.clamp(0, 1), scores_BN, classes_BN

    def loss(self, batch: SceneBatch, step: int) -> Loss:
        """Focal loss of the heat maps (eq. 1) and L1 distance of the boxes at the centres, per object."""
        logits_BKrc, sides_B4rc = self(batch.pixels_BChw)
        rows, columns = logits_BKrc.shape[2:]
        size = torch.tensor([columns, rows, columns, rows], device=logits_BKrc.device)
        edges_BM4 = edges(batch.boxes_BM4) * size
        heat_BKrc = heat_maps(batch, self.settings.classes, rows, columns)
        focal = focal_loss(logits_BKrc, heat_BKrc)
        images, places = (batch.classes_BM >= 0).nonzero(as_tuple=True)
        own_N4 = edges_BM4[images, places]
        x_N = ((own_N4[:, 0] + own_N4[:, 2]) / 2).long().clamp(0, columns - 1)
        y_N = ((own_N4[:, 1] + own_N4[:, 3]) / 2).long().clamp(0, rows - 1)
        predicted_N4 = sides_B4rc[images, :, y_N, x_N]
        centre_N2 = torch.stack([x_N, y_N], dim=1) + 0.5
        true_N4 = torch.cat([centre_N2 - own_N4[:, :2], own_N4[:, 2:] - centre_N2], dim=1)
        distance = (predicted_N4 - true_N4).abs().mean(dim=1).sum()
        return {
            "loss": LossTerm(1.0, focal, per="objects"),
            "box_loss": LossTerm(self.settings.box_weight, distance, per="objects"),
        }


def heat_maps(batch: SceneBatch, classes: int, rows: int, columns: int) -> Tensor:
    """The targets, (B, K, r, c): at each place the largest Gaussian of the class's objects, 1 at a centre.

    The standard deviation is a twelfth of the box in each direction: of places nearby, the exact centre wins.
    """
    size = torch.tensor([columns, rows], device=batch.boxes_BM4.device)
    centre_BM2 = (batch.boxes_BM4[..., :2] * size).long().clamp(min=0).minimum(size - 1)
    deviation_BM2 = (batch.boxes_BM4[..., 2:] * size / 12).clamp(min=0.3)
    x_c, y_r = (torch.arange(count, device=size.device) for count in (columns, rows))
    x_BMc = (x_c - centre_BM2[..., :1]) / deviation_BM2[..., :1]
    y_BMr = (y_r - centre_BM2[..., 1:]) / deviation_BM2[..., 1:]
    bumps_BMrc = torch.exp(-(y_BMr[..., :, None] ** 2 + x_BMc[..., None, :] ** 2) / 2)
    heat_BKrc = batch.boxes_BM4.new_zeros(len(batch.classes_BM), classes, rows, columns)
    for place in range(batch.classes_BM.shape[1]):
        present = (batch.classes_BM[:, place] >= 0).nonzero()[:, 0]
        kinds = batch.classes_BM[present, place]
        heat_BKrc[present, kinds] = heat_BKrc[present, kinds].maximum(bumps_BMrc[present, place])
    return heat_BKrc


def focal_loss(logits_BKrc: Tensor, heat_BKrc: Tensor) -> Tensor:
    """The focal loss of heat maps, alpha = 2 and beta = 4 (Zhou et al. 2019, eq. 1); a sum."""
    p = logits_BKrc.sigmoid()
    positive = heat_BKrc == 1
    hit = (1 - p) ** 2 * F.logsigmoid(logits_BKrc)
    miss = (1 - heat_BKrc) ** 4 * p**2 * F.logsigmoid(-logits_BKrc)
    return -torch.where(positive, hit, miss).sum()


Model = ConvDetector
