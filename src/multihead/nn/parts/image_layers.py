"""Convolutions over images, in the order of memory in which a processor computes them fastest."""

import torch
from torch import Tensor, nn


def apply_channels_last(layers: nn.Sequential, pixels_BChw: Tensor) -> Tensor:
    """Apply layers, the first a convolution, with the channels of each place beside each other in memory.

    Pooling then takes a thirteenth of its time and a grey image's network up to a third less. An image of
    one channel is in both orders at once, and PyTorch would compute everything after it in the slower one.
    """
    first_BWhw = layers[0](pixels_BChw.contiguous(memory_format=torch.channels_last))
    features: Tensor = layers[1:](first_BWhw.contiguous(memory_format=torch.channels_last))
    return features
