"""String reversal, a task that is learned in seconds, and a training run for it."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from multihead.batch import PairBatch
from multihead.data.batches import BatchStream, PairList, Pairs, StreamPosition, sequential_batches
from multihead.models.transformer import Settings, Transformer
from multihead.recipe.settings import TrainingSettings, ValidationSettings
from multihead.run import Run
from multihead.run.follower import FollowingRun
from multihead.training import Outcome, Training, TrainingPlan, Validation

PAD, BOS, EOS, FIRST = 0, 2, 3, 4
"""Ids of the special symbols and of the first letter."""
LETTERS = 7
V = FIRST + LETTERS


def strings(count: int, longest: int, seed: int) -> list[list[int]]:
    """Return distinct random strings of 1 to ``longest`` letters."""
    chance, found = random.Random(seed), dict[tuple[int, ...], None]()
    while len(found) < count:
        length = chance.randint(1, longest)
        found[tuple(chance.randrange(FIRST, V) for _ in range(length))] = None
    return [list(string) for string in found]


def pairs_of(sources: list[list[int]]) -> PairList:
    """Pair each string with its reversal."""
    return PairList(sources, [string[::-1] for string in sources])


def small_transformer(**changed: object) -> Transformer:
    """Return a small Transformer, the same at every call."""
    given: dict[str, object] = {"d_model": 24, "d_ff": 37, "num_layers": 1, "num_heads": 3, "dropout": 0.1}
    settings = Settings.model_validate({"source_vocab": V, "target_vocab": V} | given | changed)
    torch.manual_seed(5)
    return Transformer(settings)


def mean_loss(model: nn.Module, pairs: PairList) -> float:
    """Return the negative log-likelihood per token, in fp32."""
    total, tokens = 0.0, 0
    loss: Callable[[PairBatch, int], Any] = model.loss  # type: ignore[assignment]
    device = next(model.parameters()).device
    for _, batch in sequential_batches(pairs, batch_tokens=997, pad_id=PAD, bos_id=BOS, eos_id=EOS):
        total += float(loss(batch.to(device), 0)["nll"].sum)
        tokens += batch.tokens
    return total / tokens


class Silent:
    """An observer that records its events."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.validations: list[dict[str, Any]] = []
        self.samples: list[str] = []

    def on_step(self, step: int) -> None:
        pass

    def on_log(self, event: dict[str, Any]) -> None:
        self.updates.append(event)

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        self.validations.append(event)
        self.samples.append(samples)


def training_in(
    folder: Path,
    model: nn.Module | None = None,
    pairs: Pairs | None = None,
    *,
    validate: Callable[[nn.Module, int], Validation] | None = None,
    observer: Silent | None = None,
    settings: dict[str, object] | None = None,
    validation: dict[str, object] | None = None,
    clock: Callable[[], float] | None = None,
    follows: bool = False,
    longer: bool = False,
) -> Training:
    """Return a training run in a folder, resumed from what is saved there; by default 20 steps in fp32.

    With ``follows``, of a process that writes nothing; with ``longer``, after ``training.longer.go_back``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = model or small_transformer()
    data = pairs or pairs_of(strings(211, 9, seed=1))
    held_out = pairs_of(strings(31, 9, seed=2))
    made = TrainingSettings.model_validate(
        {"steps": 20, "batch_tokens": 101, "warmup_steps": 7, "log_every": 3, "precision": "fp32"}
        | {"horizon": 20, "average": 2, "device": "cpu"}
        | (settings or {})
    )

    def stream(position: StreamPosition) -> BatchStream:
        return BatchStream(
            data,
            batch_tokens=made.batch_tokens,
            seed=made.seed,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            position=position,
        )

    device = torch.device(made.device)
    plan = TrainingPlan(
        run=FollowingRun(folder) if follows else Run(folder).lock(),
        stream=stream,
        validate=validate
        or (lambda model, step: Validation({"loss": mean_loss(model, held_out)}, f"at {step}")),
        settings=made,
        validation=ValidationSettings.model_validate({"every": 5, "metric": "loss"} | (validation or {})),
        device=device,
        d_model=24,
        clock=clock or time.monotonic,
        longer=longer,
    )
    return Training(model.to(device), plan, observer or Silent())


def fit(training: Training) -> Outcome:
    """Train, and release the folder in any case, as the end of a process does."""
    with training.run:
        return training.fit()


TIMED = {"seconds", "tokens_per_second", "eta_seconds", "last"}


def contents(folder: Path) -> dict[str, object]:
    """Return the content of a run folder without timings, equal for two runs that computed the same."""
    run = Run(folder)
    found: dict[str, object] = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "metrics.jsonl" and not path.name.startswith("state-")
    }
    for name in run.checkpoints():
        if name.startswith("state-"):
            tensors, meta = run.load_tensors(name)
            found[name] = {key: value.numpy().tobytes() for key, value in tensors.items()}
            found[f"{name} meta"] = meta | {
                "seconds": 0,
                "elapsed": 0,
                "unlogged": {**meta["unlogged"], "seconds": 0},
            }
    events = [{key: e[key] for key in e.keys() - TIMED} for e in run.metrics()]
    return found | {"events": events}
