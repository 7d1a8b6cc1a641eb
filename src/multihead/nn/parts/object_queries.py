"""Object queries of DETR: learned vectors, learned anchors, or boxes that are guessed from the image."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from multihead.nn.parts.positioned_attention import sinusoids_2d

EDGE = 1e-4
"""Clamp fractions to [EDGE, 1 - EDGE] before the logit."""
SIZE = 0.3
"""Height and width of boxes before training, as fractions of the image."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """Predictions at each place of the feature map: logits (B, P, K + 1), boxes (B, P, 4) as fractions."""

    logits_BPK: Tensor
    boxes_BP4: Tensor


@dataclass(frozen=True, slots=True)
class Start:
    """The queries before the first decoder layer.

    Attributes:
        references_BQ4: logits of the boxes that they correct.
        contents_BQd: their contents.
        guesses: what they were chosen from, if they were.
    """

    references_BQ4: Tensor
    contents_BQd: Tensor
    guesses: Guesses | None = None


class LearnedQueries(nn.Module):
    """Queries as learned vectors (Carion et al. 2020, sec. 3.2); boxes are predicted from scratch."""

    def __init__(self, queries: int, d_model: int, classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(queries, d_model))

    def start(self, memory_BPd: Tensor, grid_P2: Tensor, queries: int) -> Start:
        """The first queries: zeros."""
        images, _, d_model = memory_BPd.shape
        return Start(
            self.weight.new_zeros(images, queries, 4), memory_BPd.new_zeros(images, queries, d_model)
        )

    def forward(self, references_BQ4: Tensor) -> Tensor:
        """The first learned vectors, (B, Q, d_model)."""
        images, queries = references_BQ4.shape[:2]
        return self.weight[:queries].expand(images, -1, -1)


class BoxQueries(nn.Module):
    """Queries as boxes: their sinusoids are the queries' positions (Liu et al. 2022, sec. 4).

    Only centres and sizes are encoded; the attention is not modulated by a box's width.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.place = nn.Linear(d_model, d_model)
        self.size = nn.Linear(d_model, d_model)

    def forward(self, references_BQ4: Tensor) -> Tensor:
        """The positions of the boxes, (B, Q, d_model): their centre's sinusoids plus a projection."""
        box_BQ4 = references_BQ4.float().sigmoid()
        place_BQd, size_BQd = (
            sinusoids_2d(part, self.d_model) for part in (box_BQ4[..., :2], box_BQ4[..., 2:])
        )
        positions: Tensor = place_BQd + self.place(place_BQd) + self.size(size_BQd)
        return positions


class AnchorQueries(BoxQueries):
    """Boxes that are learned, the same for every image."""

    def __init__(self, queries: int, d_model: int, classes: int) -> None:
        centres_Q2 = torch.rand(queries, 2).clamp(0.02, 0.98)
        sizes_Q2 = torch.full_like(centres_Q2, SIZE)
        super().__init__(d_model)
        self.weight = nn.Parameter(torch.cat([centres_Q2, sizes_Q2], 1).logit())

    def start(self, memory_BPd: Tensor, grid_P2: Tensor, queries: int) -> Start:
        """The first anchors, with zeros as contents."""
        images, _, d_model = memory_BPd.shape
        anchors_BQ4 = self.weight[:queries].expand(images, -1, -1)
        return Start(anchors_BQ4, memory_BPd.new_zeros(images, queries, d_model))


class ProposedQueries(BoxQueries):
    """Boxes that are guessed from the image: the best of one guess a place (Zhu et al. 2021, app. A.4)."""

    def __init__(self, queries: int, d_model: int, classes: int) -> None:
        super().__init__(d_model)
        self.class_head = nn.Linear(d_model, classes + 1)
        self.box_head = box_head(d_model)

    def start(self, memory_BPd: Tensor, grid_P2: Tensor, queries: int) -> Start:
        """The guesses of which a class is most likely, with the encoder's output there as contents.

        There are no more queries than places.
        """
        cells_P4 = torch.cat([grid_P2, torch.full_like(grid_P2, SIZE)], dim=1).logit()
        logits_BPK = self.class_head(memory_BPd).float()
        boxes_BP4 = (self.box_head(memory_BPd).float() + cells_P4).sigmoid()
        scores_BP = logits_BPK.detach().softmax(-1)[..., :-1].amax(-1)
        best_BQ1 = scores_BP.topk(min(queries, len(grid_P2)), dim=1).indices[..., None]
        references_BQ4 = torch.logit(boxes_BP4.detach(), eps=EDGE).gather(1, best_BQ1.expand(-1, -1, 4))
        contents_BQd = memory_BPd.gather(1, best_BQ1.expand(-1, -1, self.d_model))
        return Start(references_BQ4, contents_BQd, Guesses(logits_BPK, boxes_BP4))


def box_head(d_model: int) -> nn.Module:
    """The network that predicts a box, or its correction (Carion et al. 2020, sec. 3.2)."""
    return nn.Sequential(
        nn.Linear(d_model, d_model), nn.ReLU(), nn.Linear(d_model, d_model), nn.ReLU(), nn.Linear(d_model, 4)
    )
