"""What can be said of a training, whatever is trained."""

from typing import Literal, NamedTuple

from pydantic import Field, PositiveFloat, PositiveInt, field_validator

from multihead.settings.base import Settings


class OptimisationSettings(Settings):
    """How the weights are found."""

    steps: PositiveInt = 10_000
    """Updates of the weights in all. May grow when a run is continued, but for the schedule cosine: its rate
    is 0 in the end."""
    horizon: int = Field(0, ge=0)
    """Updates that the schedule is laid out for (cosine); 0: the first run's `steps`, then frozen."""
    accumulate: PositiveInt = 1
    """Batches an update: their gradients are summed before the step, exactly as in one large batch."""
    optimizer: Literal["adam", "adamw", "muon"] = "adam"
    """Adam as in the paper; AdamW, with decoupled weight decay; Muon, which learns a Transformer in fewer but
    longer updates, at about twice Adam's rate (AdamW for all but the matrices of attention and feed-forward
    networks). Another than a recipe's brings its rate along, unless that is said."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Adam's decay rates (Vaswani et al. 2017, sec. 5.3)."""
    eps: PositiveFloat = 1e-9
    """Adam's epsilon (sec. 5.3)."""
    weight_decay: float = Field(0.0, ge=0)
    """Decay of the weights (matrices only)."""
    schedule: Literal["noam", "inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """How the learning rate moves. noam: learning_rate * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)
    (eq. 3); the others rise linearly to learning_rate in warmup_steps."""
    learning_rate: PositiveFloat = 1e-3
    """Peak rate; for noam the factor before equation 3 (the paper: 1)."""
    warmup_steps: int = Field(1000, ge=0)
    """Updates of linear warm-up."""
    clip_norm: float = Field(1.0, ge=0)
    """Gradient norm is clipped to this; 0: never."""
    ema: float = Field(0.0, ge=0, lt=1)
    """Decay of an exponential moving average of the weights; 0: none."""
    average: PositiveInt = 5
    """The final weights are the mean of the last so many scheduled checkpoints (1: none averaged)."""
    final: Literal["auto", "average", "best", "ema", "last"] = "auto"
    """Which weights the run ends with; "auto": whichever validates best."""
    seed: int = 1
    """All that is random in training follows from it: first weights, order of batches, dropout."""
    device: str = "auto"
    """cuda, mps, cpu, or auto: the first of these that there is."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Number format of the matrix products. int8: bytes times scales, a CPU and the native kernels needed;
    "auto": that where it is faster, else bf16 where the hardware has it. What is trained suits any format."""
    gradient_grain: float = Field(2**-8, ge=0, lt=1)
    """Entries of the gradient at the logits that are smaller are rounded to 0 or to this at random, without
    bias, and what is 0 need not be multiplied (native kernels on a CPU, 2,048 words or more); 0: exact."""
    compile: bool = False
    """Compile the model with torch.compile (pays off in long runs)."""
    threads: int = Field(0, ge=0)
    """CPU threads, at most one a core; 0: all cores, or OMP_NUM_THREADS of them."""
    save_minutes: PositiveFloat = 5.0
    """Save the training state at least this often, besides at every validation."""
    log_every: PositiveInt = 50
    """Updates between two lines of metrics.jsonl."""

    @field_validator("betas")
    @classmethod
    def _decay(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas = {[*betas]}, but each must be at least 0 and below 1")
        return betas


class FirstStage(NamedTuple):
    """What a model of two stages says of its first one, which has a learning rate of its own."""

    steps: int
    """Its updates."""
    learning_rate: float
    """Their peak rate."""


class TrainingSettings(OptimisationSettings):
    """How the weights are found."""

    batch_tokens: PositiveInt = 4096
    """Target tokens a batch, end symbols included (padding not counted)."""


class ValidationSchedule(Settings):
    """How a run is watched, and when it stops: what the training loop asks for."""

    every: PositiveInt = 500
    """Updates between two validations; each is a scheduled checkpoint."""
    metric: str = "loss"
    """What "best" means; a task says which there are."""
    patience: int = Field(0, ge=0)
    """Stop after so many validations without a better value; 0: never."""
