"""Settings of training and validation that all tasks share."""

from typing import Literal, NamedTuple

from pydantic import Field, PositiveFloat, PositiveInt, field_validator

from multihead.recipe.settings.base import Settings


class OptimisationSettings(Settings):
    """Optimiser, learning-rate schedule, checkpoint averaging and hardware."""

    steps: PositiveInt = 10_000
    """Total number of updates. A finished run is extended by raising it, except with schedule cosine, whose
    learning rate ends at 0."""
    horizon: int = Field(0, ge=0)
    """Updates spanned by the cosine schedule; 0: `steps` of the first start, kept from then on."""
    accumulate: PositiveInt = 1
    """Gradient accumulation: batches per update. The update is exactly that of one large batch. Several
    processes share these batches, so there are at most as many (docs/how-to/parallel.md)."""
    reduction: Literal["ordered", "fast"] = "ordered"
    """Sum of the gradients of several processes. ordered: in the order of the batches, so that any number of
    processes ends with the same bytes as one; fast: all_reduce, whose order depends on their number."""
    shard_optimizer: bool = False
    """Divide the optimiser's state among several processes, so that each holds a part (ZeRO-1, Rajbhandari et
    al. 2020). The weights end with the same bytes."""
    shard_weights: bool = False
    """Divide weights, gradients and the optimiser's state among several processes (FSDP2, Zhao et al. 2023),
    for a Transformer that does not fit into each of them. The losses are those of one process up to
    rounding."""
    optimizer: Literal["adam", "adamw", "muon"] = "adam"
    """Optimiser: "adam" as in the paper; "adamw" with decoupled weight decay; "muon", which trains a
    Transformer in fewer but slower updates at about twice Adam's learning rate (and uses AdamW for everything
    but the matrices of attention and feed-forward networks). Changing a recipe's optimiser also changes its
    learning rate, unless one is given."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Adam's decay rates beta_1 and beta_2 (Vaswani et al. 2017, sec. 5.3)."""
    eps: PositiveFloat = 1e-9
    """Adam's epsilon (sec. 5.3)."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay, applied to matrices only."""
    schedule: Literal["noam", "inverse_sqrt", "cosine", "constant", "wsd"] = "inverse_sqrt"
    """Learning-rate schedule. noam: learning_rate * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (eq.
    3). The others rise linearly to learning_rate in warmup_steps, then decay with the inverse square root of
    the step, decay to 0 along a cosine, or stay constant. wsd (warm-up, stable, decay; Hu et al. 2024): the
    rate stays constant until validation.patience, training.minutes, or training.steps asks for the end, and
    then decays to 0 in a cool-down."""
    cooldown: float = Field(0.2, gt=0, le=1)
    """Length of the cool-down of schedule wsd, as a part of the updates before it."""
    minutes: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Time limit in minutes, in which preparation, validations and the final choice of weights are counted;
    0: none. The schedule wsd starts its cool-down in time."""
    learning_rate: PositiveFloat = 1e-3
    """Peak learning rate; for schedule noam, the factor before equation 3 (the paper: 1)."""
    warmup_steps: int = Field(1000, ge=0)
    """Warm-up: updates over which the learning rate rises linearly."""
    clip_norm: float = Field(1.0, ge=0)
    """Maximum gradient norm; larger gradients are clipped. 0: no clipping."""
    ema: float = Field(0.0, ge=0, lt=1)
    """Decay of an exponential moving average of the weights; 0: none."""
    average: PositiveInt = 5
    """Checkpoint averaging: the final weights are the mean of this many last checkpoints, one per validation;
    1: no averaging."""
    final: Literal["auto", "average", "best", "ema", "last"] = "auto"
    """Final weights of the run: the checkpoint average, the best checkpoint, the moving average (ema), or the
    last weights; "auto": whichever validates best."""
    seed: int = 1
    """Seeds initialisation, batch order and dropout."""
    device: str = "auto"
    """Device: cuda, mps or cpu; auto: the first of these that is available."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Number format of matrix products. int8: 8-bit integers with scales, on a CPU with the native kernels.
    auto: int8 if it is faster, else bf16 if the hardware supports it, else fp32. Trained weights can be
    used in any format."""
    gradient_grain: float = Field(2**-8, ge=0, lt=1)
    """Stochastic rounding of the gradient at the logits: smaller entries become 0 or this value, without
    bias, and zeros need no products (native CPU kernels, vocabularies of 2,048 or more). 0: exact
    gradients."""
    skip_bad: int = Field(0, ge=0)
    """Batches whose loss or gradient is not finite that are skipped, with a line in metrics.jsonl; one more
    ends the training with an error that names their lines."""
    compile: bool = False
    """Compile the model with torch.compile (pays off in long runs)."""
    threads: int = Field(0, ge=0)
    """CPU threads, at most one per core; 0: all cores, or OMP_NUM_THREADS of them."""
    save_minutes: PositiveFloat = 5.0
    """Maximum minutes between saves of the training state, which is also saved at every validation."""
    log_every: PositiveInt = 50
    """Updates between two lines of metrics.jsonl."""

    @field_validator("betas")
    @classmethod
    def _decay(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas = {[*betas]}, but each must be at least 0 and below 1")
        return betas


class FirstStage(NamedTuple):
    """The first stage of a two-stage model, which has its own learning rate."""

    steps: int
    """Number of updates."""
    learning_rate: float
    """Peak learning rate."""


class TrainingSettings(OptimisationSettings):
    """Optimiser, learning-rate schedule, batch size, checkpoint averaging and hardware."""

    batch_tokens: PositiveInt = 4096
    """Batch size: target tokens per batch, end tokens included, padding excluded."""


class ValidationSchedule(Settings):
    """Validation, model selection and early stopping."""

    every: PositiveInt = 500
    """Updates between validations; each validation saves a checkpoint."""
    metric: str = "loss"
    """Metric that selects the best checkpoint; each task has its own."""
    patience: int = Field(0, ge=0)
    """Early stopping: stop after this many validations without improvement; 0: never. With schedule wsd, the
    cool-down starts instead."""
    patience_share: float = Field(0.0, ge=0, lt=1)
    """Early stopping also waits until this share of all updates so far has brought no improvement."""
    patience_loss: bool = False
    """A lower validation loss counts as an improvement too, whatever the metric."""
