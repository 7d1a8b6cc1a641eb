"""The role of a module in a model: attention, feed-forward network, norm ..."""

from torch import nn

from multihead.nn.feed_forward import FeedForward
from multihead.nn.modules import RMSNorm
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.parts.alignment import AlignmentModel
from multihead.nn.parts.convolution import GatedConvolution
from multihead.nn.parts.convolutional_tokenizer import ConvolutionalTokenizer
from multihead.nn.parts.patch_positions import PatchPositions, SinusoidalPatchPositions
from multihead.nn.parts.patches import ConvolutionalPatches, LinearPatches
from multihead.nn.parts.pooling import ClassPooling, MeanPooling, SequencePooling
from multihead.nn.parts.reformer import ReformerAttention
from multihead.nn.parts.ssru import SSRU
from multihead.nn.positions import LearnedPositions, SinusoidalPositions

ROLES: dict[str, tuple[type[nn.Module], ...]] = {
    "positions": (LearnedPositions, SinusoidalPositions, PatchPositions, SinusoidalPatchPositions),
    "embedding": (nn.Embedding,),
    "patches": (LinearPatches, ConvolutionalPatches, ConvolutionalTokenizer),
    "attention": (MultiHeadAttention, AlignmentModel, ReformerAttention),
    "feed-forward": (FeedForward,),
    "recurrent": (nn.RNNBase, SSRU),
    "convolution": (GatedConvolution, nn.Conv1d, nn.Conv2d),
    "norm": (nn.LayerNorm, RMSNorm, nn.GroupNorm, nn.BatchNorm2d),
    "pooling": (ClassPooling, MeanPooling, SequencePooling),
    "linear": (nn.Linear,),
}
"""Classes by role; the roles of a subclass are its parent's."""


def role_of(module: nn.Module) -> str:
    """Return the role of a module: "" for a container; "other" for an unknown class with weights."""
    for role, classes in ROLES.items():
        if isinstance(module, classes):
            return role
    if callable(getattr(module, "weights", None)):
        return "attention"
    leaf = not any(True for _ in module.children())
    return "other" if leaf and any(True for _ in module.parameters()) else ""


def is_residual(module: nn.Module) -> bool:
    """Return whether a module adds a sublayer's output to its input."""
    return hasattr(module, "ends_normalised")
