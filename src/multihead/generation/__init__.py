"""A trained run that turns text into text."""

from multihead.generation.translation import Output, PairScore, Translation
from multihead.generation.translator import Translator

__all__ = ["Output", "PairScore", "Translation", "Translator"]
