"""Settings that all object detectors share."""

from typing import Literal

from pydantic import PositiveInt, model_validator

from multihead.models._checks import check_patches
from multihead.recipe import settings


class DetectorSettings(settings.Settings):
    """Settings of the data and of the convolutional stem."""

    image_size: PositiveInt = 96
    """Height and width of the images, in pixels; set by the data."""
    channels: Literal[3] = 3
    """Channels of the images; set by the data."""
    classes: PositiveInt = 8
    """Number of classes, without "no object"; set by the data."""
    class_names: tuple[str, ...] = ()
    """Names of the classes; set by the data."""
    patch_size: PositiveInt = 8
    """Stride of the stem in pixels: height and width of a position of the feature map; a power of 2."""
    stem_width: PositiveInt = 32
    """Channels of the stem's first convolution, doubled wherever the image is halved."""

    @model_validator(mode="after")
    def _whole_feature_map(self) -> "DetectorSettings":
        if self.patch_size.bit_count() != 1:
            raise ValueError(f"patch_size {self.patch_size} is not a power of 2")
        check_patches(self.image_size, self.patch_size)
        return self
