"""DETR, "End-to-End Object Detection with Transformers" (Carion et al. 2020).

``DETR(Settings())`` has the paper's sizes with a smaller convolutional stem in place of a ResNet.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import SceneBatch
from multihead.models._detection import DetectorSettings
from multihead.nn import FeedForward, PostNorm, PreNorm
from multihead.nn.initialisation import initialise
from multihead.nn.losses import Loss, LossTerm
from multihead.nn.modules import LayerNorm
from multihead.nn.parts.boxes import edges
from multihead.nn.parts.object_queries import (
    EDGE,
    AnchorQueries,
    Guesses,
    LearnedQueries,
    ProposedQueries,
    box_head,
)
from multihead.nn.parts.positioned_attention import PositionedAttention, grid_places, sinusoids_2d
from multihead.nn.parts.residual_stem import ResidualStem
from multihead.nn.parts.set_loss import SetLoss, set_loss
from multihead.nn.residual import ResidualKind

TASK = "detection"
NORMS: dict[str, ResidualKind] = {"post": PostNorm, "pre": PreNorm}


class Settings(DetectorSettings):
    """Settings of DETR; the defaults are the paper's, but for the stem."""

    d_model: PositiveInt = 256
    """Width of the residual stream."""
    d_ff: PositiveInt = 2048
    """Inner width of the feed-forward networks."""
    num_heads: PositiveInt = 8
    """Number of attention heads."""
    encoder_layers: PositiveInt = 6
    """Number of encoder layers."""
    decoder_layers: PositiveInt = 6
    """Number of decoder layers."""
    queries: PositiveInt = 100
    """Number of object queries: the maximum number of objects in an image."""
    anchors: bool = False
    """Queries are boxes that each decoder layer corrects (DAB-DETR, Liu et al. 2022), in place of learned
    vectors; they learn much faster."""
    proposals: bool = False
    """The encoder predicts an object at each place; the best guesses become the anchors, at most one a place
    (two-stage Deformable DETR, Zhu et al. 2021)."""
    query_groups: PositiveInt = 1
    """Sets of queries in training, each matched to all objects by itself (Group DETR, Chen et al. 2023);
    detection uses the first."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after or before each sublayer."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of every sublayer's output and inside the feed-forward networks."""
    auxiliary: bool = True
    """Auxiliary losses: every decoder layer predicts the objects, with shared output layers."""
    no_object: float = Field(0.1, gt=0, le=1)
    """Weight of "no object" in the cross-entropy."""
    box_weight: PositiveFloat = 5.0
    """Weight of the L1 distance of boxes, in the loss and in the matching."""
    iou_weight: PositiveFloat = 2.0
    """Weight of the generalised IoU, in the loss and in the matching."""
    iou_targets: bool = False
    """Scores are taught the IoU of their boxes in place of 1, so that they rank by it (VarifocalNet, Zhang et
    al. 2021)."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.d_model % (4 * self.num_heads):
            raise ValueError(f"d_model {self.d_model} is not a multiple of 4 num_heads")
        if self.proposals and not self.anchors:
            raise ValueError("proposals are boxes that become anchors: set anchors = true")
        if self.proposals and self.query_groups > 1:
            raise ValueError("proposals would be the same in all query_groups: set query_groups = 1")
        return self


class DetrEncoderLayer(nn.Module):
    """Self-attention over the feature map, then feed-forward (figure 10, left)."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.attention = PositionedAttention(s.d_model, s.num_heads)
        self.feed_forward = FeedForward(s.d_model, s.d_ff, dropout=s.dropout)
        self.around_attention, self.around_feed_forward = (
            NORMS[s.norm](s.d_model, s.dropout) for _ in range(2)
        )

    def forward(self, x_BPd: Tensor, places_Pd: Tensor) -> Tensor:
        """Apply the layer; same shape as x."""
        x_BPd = self.around_attention(x_BPd, lambda y: self.attention(y, y, places_Pd, places_Pd))
        out: Tensor = self.around_feed_forward(x_BPd, self.feed_forward)
        return out


class DetrDecoderLayer(nn.Module):
    """Self-attention among the queries, attention to the image, feed-forward (figure 10, right)."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.self_attention = PositionedAttention(s.d_model, s.num_heads)
        self.cross_attention = PositionedAttention(s.d_model, s.num_heads)
        self.feed_forward = FeedForward(s.d_model, s.d_ff, dropout=s.dropout)
        self.around_self, self.around_cross, self.around_feed_forward = (
            NORMS[s.norm](s.d_model, s.dropout) for _ in range(3)
        )

    def forward(
        self, x_BQd: Tensor, query_BQd: Tensor, memory_BPd: Tensor, places_Pd: Tensor, groups: int = 1
    ) -> Tensor:
        """Apply the layer; same shape as x.

        Args:
            x_BQd: the queries' contents, zeros before the first layer.
            query_BQd: the queries' positions.
            memory_BPd: the encoder's output.
            places_Pd: positions of the feature map.
            groups: number of sets of queries, one after the other, that do not attend to each other.
        """

        def among_queries(y_BQd: Tensor) -> Tensor:
            grouped, places = by_group(y_BQd, groups), by_group(query_BQd, groups)
            out: Tensor = self.self_attention(grouped, grouped, places, places)
            return out.reshape(y_BQd.shape)

        x_BQd = self.around_self(x_BQd, among_queries)
        x_BQd = self.around_cross(x_BQd, lambda y: self.cross_attention(y, memory_BPd, query_BQd, places_Pd))
        out: Tensor = self.around_feed_forward(x_BQd, self.feed_forward)
        return out


class DETR(nn.Module):
    """Maps images to a set of boxes with classes: stem, encoder, decoder of object queries (figure 2)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        self.encoder = nn.ModuleList(DetrEncoderLayer(s) for _ in range(s.encoder_layers))
        self.decoder = nn.ModuleList(DetrDecoderLayer(s) for _ in range(s.decoder_layers))
        ends = NORMS[s.norm].ends_normalised
        self.memory_norm = nn.Identity() if ends else LayerNorm(s.d_model)
        self.output_norm = LayerNorm(s.d_model)
        self.class_head = nn.Linear(s.d_model, s.classes + 1)
        self.box_head = box_head(s.d_model)
        kind = ProposedQueries if s.proposals else AnchorQueries if s.anchors else LearnedQueries
        self.query_positions = kind(s.query_groups * s.queries, s.d_model, s.classes)
        initialise(self, "xavier")
        self.stem = ResidualStem(s.patch_size, s.channels, s.stem_width)
        self.project = nn.Linear(self.stem.width, s.d_model)
        initialise(self.project, "xavier")

    def forward(self, pixels_BChw: Tensor, groups: int = 1) -> tuple[Tensor, Tensor]:
        """Logits of the classes and "no object", (L, B, Q, K + 1), and boxes, (L, B, Q, 4), of each layer.

        Args:
            pixels_BChw: from 0 (black) to 1; height and width are multiples of ``patch_size``.
            groups: number of sets of queries, from the first; Q is ``queries`` times this.

        Returns:
            Boxes are centres and sizes as fractions of the image; L is the number of decoder layers.
        """
        return self.decode(*self.encode(pixels_BChw), groups)[:2]

    def encode(self, pixels_BChw: Tensor) -> tuple[Tensor, Tensor]:
        """The encoder's output, (B, P, d_model), and the (x, y) of its places, (P, 2) from 0 to 1."""
        features_BCrc = self.stem(2 * pixels_BChw - 1)
        rows, columns = features_BCrc.shape[2:]
        x_BPd = self.project(features_BCrc.flatten(2).mT)
        grid_P2 = grid_places(rows, columns, x_BPd.device)
        places_Pd = sinusoids_2d(grid_P2, self.settings.d_model).to(x_BPd.dtype)
        for layer in self.encoder:
            x_BPd = layer(x_BPd, places_Pd)
        return self.memory_norm(x_BPd), grid_P2

    def decode(
        self, memory_BPd: Tensor, grid_P2: Tensor, groups: int = 1
    ) -> tuple[Tensor, Tensor, Guesses | None]:
        """The outputs of :meth:`forward` from those of :meth:`encode`, and the proposals if there are any."""
        places_Pd = sinusoids_2d(grid_P2, self.settings.d_model).to(memory_BPd.dtype)
        start = self.query_positions.start(memory_BPd, grid_P2, groups * self.settings.queries)
        references_BQ4, x_BQd = start.references_BQ4, start.contents_BQd
        logits, boxes = [], []
        for layer in self.decoder:
            query_BQd = self.query_positions(references_BQ4).to(x_BQd.dtype)
            x_BQd = layer(x_BQd, query_BQd, memory_BPd, places_Pd, groups)
            read_BQd = self.output_norm(x_BQd)
            box_BQ4 = (self.box_head(read_BQd).float() + references_BQ4.float()).sigmoid()
            logits.append(self.class_head(read_BQd).float())
            boxes.append(box_BQ4)
            if self.settings.anchors:
                references_BQ4 = torch.logit(box_BQ4.detach(), eps=EDGE)
        return torch.stack(logits), torch.stack(boxes), start.guesses

    def taken_from(self, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the reusable weights of a trained detector.

        The class heads are reused if the number of classes agrees.
        """
        weights = self.state_dict()
        return {
            name: weight
            for name, weight in trained.items()
            if "class_head." not in name or name not in weights or weight.shape == weights[name].shape
        }

    def detect(self, pixels_BChw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The prediction of each query: edges from 0 to 1, (B, Q, 4), scores (B, Q), and classes (B, Q)."""
        logits_LBQK, boxes_LBQ4 = self(pixels_BChw)
        scores_BQ, classes_BQ = logits_LBQK[-1].softmax(-1)[..., :-1].max(-1)
        return edges(boxes_LBQ4[-1]).clamp(0, 1), scores_BQ, classes_BQ

    def loss(self, batch: SceneBatch, step: int) -> Loss:
        """The set loss per object (eq. 2), the mean of the groups; the share of objects found as a metric."""
        s = self.settings
        groups = s.query_groups if self.training else 1
        logits_LBQK, boxes_LBQ4, guesses = self.decode(*self.encode(batch.pixels_BChw), groups)
        if not s.auxiliary:
            logits_LBQK, boxes_LBQ4 = logits_LBQK[-1:], boxes_LBQ4[-1:]
        losses = self._compare(
            by_group(logits_LBQK, groups, dim=2), by_group(boxes_LBQ4, groups, dim=2), batch, groups
        )
        classes, distance, ious = losses.classes / groups, losses.boxes / groups, losses.ious / groups
        if guesses:
            guessed = self._compare(guesses.logits_BPK[None], guesses.boxes_BP4[None], batch)
            classes, distance, ious = classes + guessed.classes, distance + guessed.boxes, ious + guessed.ious
        return {
            "loss": LossTerm(1.0, classes, per="objects"),
            "box_loss": LossTerm(s.box_weight, distance, per="objects"),
            "iou_loss": LossTerm(s.iou_weight, ious, per="objects"),
            "found": LossTerm(0.0, losses.found / groups, per="objects"),
        }

    def _compare(self, logits_LBQK: Tensor, boxes_LBQ4: Tensor, batch: SceneBatch, times: int = 1) -> SetLoss:
        """Compare predictions with the objects of a batch, each image ``times`` times."""
        s = self.settings
        return set_loss(
            logits_LBQK,
            boxes_LBQ4,
            batch.boxes_BM4.repeat_interleave(times, 0),
            batch.classes_BM.repeat_interleave(times, 0),
            costs=(1.0, s.box_weight, s.iou_weight),
            no_object=s.no_object,
            iou_targets=s.iou_targets,
        )


def by_group(x: Tensor, groups: int, dim: int = 1) -> Tensor:
    """Split a dimension of queries into groups that count as images; B, G Q to B G, Q before ``dim``."""
    shape = x.shape
    return x.reshape(*shape[: dim - 1], shape[dim - 1] * groups, shape[dim] // groups, *shape[dim + 1 :])


Model = DETR
