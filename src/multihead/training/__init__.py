"""Training: the loop, optimisers, schedules and checkpoints. A model needs only ``loss(batch, step)``."""

from multihead.training.loop import Training
from multihead.training.outcome import Observer, Outcome, Validation
from multihead.training.plan import TrainingPlan

__all__ = ["Observer", "Outcome", "Training", "TrainingPlan", "Validation"]
