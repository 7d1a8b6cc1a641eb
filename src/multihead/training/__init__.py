"""Training: the loop, optimisers, schedules and checkpoints. A model needs only ``loss(batch, step)``."""

from multihead.training.loop import Observer, Outcome, Training, Validation

__all__ = ["Observer", "Outcome", "Training", "Validation"]
