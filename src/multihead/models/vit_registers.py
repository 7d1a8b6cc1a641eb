"""ViT with register tokens, "Vision Transformers Need Registers" (Darcet et al. 2024)."""

from pydantic import PositiveInt

from multihead.models import vit
from multihead.models.vit import VisionTransformer, paper_parts

TASK = "images"


class Settings(vit.Settings):
    """Settings of the ViT with registers; the defaults are ViT-B/16 with the paper's four."""

    registers: PositiveInt = 4
    """Number of register tokens, whose outputs are discarded."""


class ViTWithRegisters(VisionTransformer):
    """Maps images to logits: class token, registers, patches, encoder, linear classifier (figure 6)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, paper_parts(settings, settings.registers))


Model = ViTWithRegisters
