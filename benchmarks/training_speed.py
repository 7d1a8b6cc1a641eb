"""How fast a Transformer trains on this machine's CPU: eager fp32, eager bf16, and with the native kernels.

    python benchmarks/training_speed.py                      small and multi30k, some minutes
    python benchmarks/training_speed.py --sizes base         the paper's base model

The variants train the same model on the same batches in turn (A B C A B C), so that a machine that is busy
with something else slows all of them; ratios are taken within a round. Sentences are random, their lengths
like those of image captions. Writes bench-training.json.
"""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import tyro
from peers.workload import SIZES, VOCAB, batches

from multihead import hardware, native
from multihead.batch import PairBatch
from multihead.models.transformer import Settings, Transformer
from multihead.run.environment import environment
from multihead.settings import TrainingSettings
from multihead.training.optimizers import make_optimizer
from multihead.training.update import Updater


@dataclass(frozen=True)
class Variant:
    """A way to compute the same training step."""

    name: str
    precision: str
    native: bool


VARIANTS = (
    Variant("eager fp32", "fp32", False),
    Variant("eager bf16", "bf16", False),
    Variant("native bf16", "bf16", True),
)


@dataclass(frozen=True)
class Measured:
    """One variant of one size.

    Attributes:
        size: of the model.
        variant: how it was trained.
        tokens_per_second: target tokens by the clock, the median of the rounds.
        tokens_per_cpu_second: the same by the process' own time on all threads.
        ratio: its speed by its own time as a multiple of the first variant's, the median of the rounds.
        spread: the smallest and the largest of these multiples.
    """

    size: str
    variant: str
    tokens_per_second: float
    tokens_per_cpu_second: float
    ratio: float
    spread: tuple[float, float]


def measure(
    size: str, variants: Sequence[Variant], given: Sequence[PairBatch], rounds: int
) -> list[Measured]:
    """Train every variant on the same batches in turn, ``rounds`` times after one update to warm up."""
    torch.manual_seed(1)
    settings = {"source_vocab": VOCAB[size], "target_vocab": VOCAB[size], "label_smoothing": 0.1}
    model = Transformer(Settings.model_validate(settings | SIZES[size])).train()
    training = {
        precision: TrainingSettings.model_validate({"precision": precision, "device": "cpu"})
        for precision in ("fp32", "bf16")
    }
    optimizer = make_optimizer(model, training["fp32"])
    updaters = {
        name: Updater(model, optimizer, chosen, torch.device("cpu")) for name, chosen in training.items()
    }
    clock: dict[str, list[float]] = {variant.name: [] for variant in variants}
    own: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for number in range(rounds + 1):
        for variant in variants:
            level = native.LEVELS[0] if variant.native else ""
            began, spent = time.perf_counter(), time.process_time()
            with native.use(level):
                for step, batch in enumerate(given if number else given[:1]):
                    updaters[variant.precision].update(step, [batch])
            if number:
                clock[variant.name].append(time.perf_counter() - began)
                own[variant.name].append(time.process_time() - spent)
    tokens = sum(batch.tokens for batch in given)
    found = []
    for variant in variants:
        pairs = zip(own[variants[0].name], own[variant.name], strict=True)
        ratios = [first / this for first, this in pairs]
        found.append(
            Measured(
                size=size,
                variant=variant.name,
                tokens_per_second=round(tokens / statistics.median(clock[variant.name]), 1),
                tokens_per_cpu_second=round(tokens / statistics.median(own[variant.name]), 1),
                ratio=round(statistics.median(ratios), 2),
                spread=(round(min(ratios), 2), round(max(ratios), 2)),
            )
        )
    return found


def table(measured: Sequence[Measured]) -> str:
    """What was measured, as Markdown."""
    head = "| model | variant | target tokens/s | per second of processor | times the first | spread |"
    rows = [
        f"| {m.size} | {m.variant} | {m.tokens_per_second:,.0f} | {m.tokens_per_cpu_second:,.0f} | {m.ratio} "
        f"| {m.spread[0]} to {m.spread[1]} |"
        for m in measured
    ]
    return "\n".join([head, "| --- | --- | ---: | ---: | ---: | ---: |", *rows]) + "\n"


def main(
    out: Path = Path("results"),
    sizes: tuple[str, ...] = ("small", "multi30k"),
    tokens: int = 4096,
    count: int = 4,
    rounds: int = 5,
    threads: int = 0,
    multiple: int = 1,
    skip: tuple[str, ...] = (),
) -> None:
    """Measure and write.

    Args:
        out: folder of the result.
        sizes: of small, multi30k, base.
        tokens: target tokens a batch.
        count: batches a round.
        rounds: how often every variant has its turn.
        threads: CPU threads; 0: all cores.
        multiple: batches are padded to multiples of this.
        skip: variants to leave out, e.g. "eager fp32".
    """
    hardware.keep_memory()
    hardware.use_threads(threads)
    variants = [v for v in VARIANTS if v.name not in skip and (native.LEVELS or not v.native)]
    measured = [
        row
        for size in sizes
        for row in measure(size, variants, batches(size, tokens, multiple, count), rounds)
    ]
    out.mkdir(parents=True, exist_ok=True)
    found = {
        **environment(),
        "tokens": tokens,
        "batches": count,
        "rounds": rounds,
        "multiple": multiple,
        "measured": [asdict(row) for row in measured],
    }
    del found["data"]
    (out / "bench-training.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(table(measured), end="")


if __name__ == "__main__":
    tyro.cli(main)
