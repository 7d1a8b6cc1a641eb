"""What can be set: the sections of a recipe, each key with its meaning, range and default.

Values come from a recipe (TOML) and the command line, see ``multihead.recipe``. The model's own
settings live beside the model; everything here is the same for every model that reads text and writes text.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt


class Settings(BaseModel):
    """A frozen section of a recipe; unknown keys are refused. The docstring below a key is its help text."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DataSettings(Settings):
    """Where the sentence pairs come from, and which of them are fit for training."""

    dir: str = "."
    """Folder that the file names below are relative to."""
    source: tuple[str, ...] = ()
    """Training file(s), source side; or TSV / JSONL files that hold both sides. "-" is standard input."""
    target: tuple[str, ...] = ()
    """Training file(s), target side, line by line with the source; empty for TSV and JSONL."""
    valid_source: tuple[str, ...] = ()
    """Validation file(s), source side. Without them a part of the training data is held out."""
    valid_target: tuple[str, ...] = ()
    """Validation file(s), target side."""
    tests: dict[str, tuple[str, ...]] = {}
    """Test sets for `multihead evaluate`: name = ["source file", "target file"] (or one TSV / JSONL file)."""
    source_language: str = ""
    """For display, e.g. "de"."""
    target_language: str = ""
    """For display, e.g. "en"."""
    format: Literal["auto", "lines", "tsv", "jsonl"] = "auto"
    """How files are read; "auto" goes by the name (.tsv, .jsonl; lines otherwise)."""
    source_field: str = ""
    """TSV column (counted from 1) or JSONL key of the source; default column 1, key "source"."""
    target_field: str = ""
    """TSV column (counted from 1) or JSONL key of the target; default column 2, key "target"."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and later."""
    valid_fraction: float = Field(0.01, gt=0, lt=1)
    """Part of the training pairs held out for validation where no file is named (50 to 2,000 pairs)."""
    max_chars: PositiveInt = 5000
    """Drop pairs with a longer side, in characters."""
    max_length: PositiveInt = 256
    """Drop pairs with a longer side, in pieces (subwords)."""
    max_length_ratio: float = Field(9.0, ge=1)
    """Drop pairs whose sides differ more in length, in characters (both + 10, so that short ones pass)."""
    drop_duplicates: bool = True
    """Drop a pair that occurred before."""
    drop_identical: bool = False
    """Drop pairs whose source and target are the same text."""
    max_pairs: int = Field(0, ge=0)
    """Train on at most so many pairs, spread over the corpus; 0: on all."""
    cache: str = ""
    """Folder of token stores; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """How text is cut into pieces."""

    kind: Literal["bpe", "unigram", "wordpiece", "chars", "words"] = "bpe"
    """Kind of pieces."""
    vocab_size: PositiveInt = 8000
    """Most pieces in a vocabulary, special symbols included."""
    joint: bool = True
    """One vocabulary for both sides (needed for tied embeddings of both)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """BPE-dropout in training (Provilkov et al. 2020): chance that a merge is left out; try 0.1."""
    min_frequency: PositiveInt = 1
    """Leave out words (kind "words") or merges (kind "bpe") seen less often."""
    sample_pairs: PositiveInt = 1_000_000
    """Train the tokenizer on at most this many pairs, spread over the corpus."""
    split_digits: bool = False
    """Keep every digit a piece of its own."""
    file: str = ""
    """A tokenizer.json to use instead of training one (source side, or both when joint)."""
    target_file: str = ""
    """A tokenizer.json for the target side."""


class TrainingSettings(Settings):
    """How the weights are found."""

    steps: PositiveInt = 10_000
    """Updates of the weights in all. May grow when a run is continued."""
    horizon: int = Field(0, ge=0)
    """Updates that the schedule is laid out for (cosine); 0: the first run's `steps`, then frozen."""
    batch_tokens: PositiveInt = 4096
    """Target tokens a batch, end symbols included (padding not counted)."""
    accumulate: PositiveInt = 1
    """Batches an update: their gradients are summed before the step, exactly as in one large batch."""
    optimizer: Literal["adam", "adamw"] = "adam"
    """Adam as in the paper, or with decoupled weight decay."""
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
    """Everything random follows from it."""
    device: str = "auto"
    """cuda, mps, cpu, or auto: the first of these that there is."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Number format of the matrix products; "auto": bf16 where the hardware has it."""
    compile: bool = False
    """Compile the model with torch.compile (pays off in long runs)."""
    threads: int = Field(0, ge=0)
    """CPU threads; 0: all cores."""
    save_minutes: PositiveFloat = 5.0
    """Save the training state at least this often, besides at every validation."""
    log_every: PositiveInt = 50
    """Updates between two lines of metrics.jsonl."""


class ValidationSettings(Settings):
    """How a run is watched, and when it stops."""

    every: PositiveInt = 500
    """Updates between two validations; each is a scheduled checkpoint."""
    metric: Literal["bleu", "chrf", "loss"] = "bleu"
    """What "best" means; loss is the negative log-likelihood a token, without smoothing."""
    patience: int = Field(0, ge=0)
    """Stop after so many validations without a better value; 0: never."""
    samples: int = Field(5, ge=0)
    """Translations shown at every validation."""
    max_pairs: PositiveInt = 2000
    """Validate on at most so many pairs."""


class SearchSettings(Settings):
    """How a translation is looked for."""

    method: Literal["beam", "greedy", "sample"] = "beam"
    """Beam search, greedy search, or random samples."""
    beam_size: PositiveInt = 5
    """Hypotheses kept for each sentence."""
    length_penalty: float = 0.6
    """alpha in ((5 + |Y|) / 6)^alpha (Wu et al. 2016, eq. 14; 0.6 as in Vaswani et al. 2017); 0: none."""
    n_best: PositiveInt = 1
    """Hypotheses returned for each sentence."""
    max_extra: int = Field(50, ge=0)
    """Longest output: the source's length plus this many pieces (sec. 6.1)."""
    max_length: int = Field(0, ge=0)
    """Longest output in pieces whatever the source; 0: max_extra rules."""
    min_length: int = Field(0, ge=0)
    """Shortest output in pieces."""
    no_repeat_ngram: int = Field(0, ge=0)
    """No n-gram of this size occurs twice in an output; 0: allowed."""
    temperature: PositiveFloat = 1.0
    """Sampling: scores are divided by it."""
    top_k: int = Field(0, ge=0)
    """Sampling: only the k likeliest pieces; 0: all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sampling: only the likeliest pieces that make up this probability."""
    seed: int = 1
    """Sampling: the same seed gives the same samples."""
    batch_tokens: PositiveInt = 4096
    """Source pieces searched at once (times the beam)."""
    replace_unknown: bool = True
    """Put the most attended source word in the place of an unknown piece."""
