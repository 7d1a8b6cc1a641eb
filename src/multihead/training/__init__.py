"""Training: the loop, optimisers, schedules and checkpoints. A model needs only ``loss(batch, step)``."""

from multihead.training.loop import Training
from multihead.training.outcome import Observer, Outcome, Validation

__all__ = ["Observer", "Outcome", "Training", "Validation"]
