"""Inference with a trained run: translation, scoring, text and image generation, classification."""

from multihead.generation.translation import Output, PairScore, Translation
from multihead.generation.translator import Translator

__all__ = ["Output", "PairScore", "Translation", "Translator"]
