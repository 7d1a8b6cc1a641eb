"""Finding the weights: the loop, and what belongs to it. Knows of a model only ``loss(batch, step)``."""

from multihead.training.loop import Observer, Outcome, Training, Validation

__all__ = ["Observer", "Outcome", "Training", "Validation"]
