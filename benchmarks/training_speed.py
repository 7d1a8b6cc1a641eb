"""Speed of training a Transformer: eager fp32 and bf16; native kernels in bf16 and int8; compiled.

    python benchmarks/training_speed.py                      small and multi30k, some minutes
    python benchmarks/training_speed.py --sizes base         the paper's base model
    python benchmarks/training_speed.py --device cuda --sizes base big --tokens 25000 --count 20

The variants train the same model on the same batches, interleaved (A B C A B C), so that other work on the
machine slows all of them; ratios are taken within a round. Sentences are random, their lengths
like those of image captions. The share of the peak is that of matrix products alone, as torch counts them, in
a large product's speed on the same device, in bf16 where the hardware has it; where it has not, the variants
are in fp32. Writes bench-training.json (bench-training-cuda.json).
"""

import json
import statistics
import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import tyro
from peers.workload import SIZES, VOCAB, batches
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from multihead.batch import PairBatch
from multihead.data.batches import FREE
from multihead.models.transformer import Settings, Transformer
from multihead.recipe.settings import TrainingSettings
from multihead.run.environment import environment
from multihead.system import hardware, native
from multihead.tasks.translation.streaming import GPU_SHAPES
from multihead.training.cuda_graphs import CudaGraphUpdater
from multihead.training.optimizers import make_optimizer
from multihead.training.update import Updater


@dataclass(frozen=True)
class Variant:
    """A way to compute the same training step."""

    name: str
    precision: str
    native: bool = False
    captured: bool = False
    compiled: bool = False


VARIANTS = (
    Variant("eager fp32", "fp32"),
    Variant("eager bf16", "bf16"),
    Variant("native bf16", "bf16", native=True),
    Variant("native int8", "int8", native=True),
)
FP32_VARIANTS = (VARIANTS[0], Variant("native fp32", "fp32", native=True), VARIANTS[3])
"""Variants for a processor without bf16: PyTorch's way around it takes forty times as long."""
GPU_VARIANTS = (
    *VARIANTS[:2],
    Variant("graphs bf16", "bf16", captured=True),
    Variant("compiled bf16", "bf16", compiled=True),
)


@dataclass(frozen=True)
class Measured:
    """One variant of one size.

    Attributes:
        size: of the model.
        variant: how it was trained.
        tokens_per_second: target tokens by the clock, the median of the rounds.
        tokens_per_cpu_second: the same by the process' own time on all threads.
        ratio: its speed (on a CPU by its own time) as a multiple of the first variant's, the median of the
            rounds.
        spread: the smallest and the largest of these multiples.
        share_of_peak: how much of a large bf16 product's speed its products come to, everything counted.
    """

    size: str
    variant: str
    tokens_per_second: float
    tokens_per_cpu_second: float
    ratio: float
    spread: tuple[float, float]
    share_of_peak: float


def measure(
    size: str, variants: Sequence[Variant], given: Sequence[PairBatch], rounds: int, device: torch.device
) -> list[Measured]:
    """Train every variant on the same batches in turn, ``rounds`` times after a round to warm up."""
    torch.manual_seed(1)
    settings = {"source_vocab": VOCAB[size], "target_vocab": VOCAB[size], "label_smoothing": 0.1}
    first = Transformer(Settings.model_validate(settings | SIZES[size])).train()
    updaters = {variant.name: _updater(deepcopy(first).to(device), variant, device) for variant in variants}
    with FlopCounterMode(display=False) as counter, native.use(""):
        for step, batch in enumerate(given):
            updaters[variants[0].name].update(step, [batch])
    in_all, peak = counter.get_total_flops(), _peak(device)
    clock: dict[str, list[float]] = {variant.name: [] for variant in variants}
    own: dict[str, list[float]] = {variant.name: [] for variant in variants}
    warm_up = 1 if device.type == "cpu" else 3  # graphs are recorded in the second
    for number in range(rounds + warm_up):
        for variant in variants:
            level = native.LEVELS[0] if variant.native else ""
            began, spent = time.perf_counter(), time.process_time()
            with native.use(level):
                for step, batch in enumerate(given):
                    updaters[variant.name].update(step, [batch])
                updaters[variant.name].synchronize()
            if number >= warm_up:
                clock[variant.name].append(time.perf_counter() - began)
                own[variant.name].append(time.process_time() - spent)
    tokens = sum(batch.tokens for batch in given)
    found = []
    compared = own if device.type == "cpu" else clock
    for variant in variants:
        pairs = zip(compared[variants[0].name], compared[variant.name], strict=True)
        ratios = [first / this for first, this in pairs]
        found.append(
            Measured(
                size=size,
                variant=variant.name,
                tokens_per_second=round(tokens / statistics.median(clock[variant.name]), 1),
                tokens_per_cpu_second=round(tokens / statistics.median(own[variant.name]), 1),
                ratio=round(statistics.median(ratios), 2),
                spread=(round(min(ratios), 2), round(max(ratios), 2)),
                share_of_peak=round(in_all / statistics.median(clock[variant.name]) / peak, 3),
            )
        )
    return found


def _updater(model: nn.Module, variant: Variant, device: torch.device) -> Updater:
    chosen = TrainingSettings.model_validate(
        {"precision": variant.precision, "device": device.type, "compile": variant.compiled}
    )
    kind = CudaGraphUpdater if variant.captured else Updater
    return kind(model, make_optimizer(model, chosen), chosen, device)


def _peak(device: torch.device) -> float:
    """Operations a second of a large product, in bf16 where the hardware has it, the best of ten."""
    width = 8192 if device.type == "cuda" else 2048
    a_NN = torch.randn(width, width, device=device, dtype=hardware.pick_dtype("auto", device))
    best = float("inf")
    for _ in range(10):
        began = time.perf_counter()
        (a_NN @ a_NN)[0, 0].item()
        best = min(best, time.perf_counter() - began)
    return 2 * width**3 / best


def table(measured: Sequence[Measured]) -> str:
    """The measurements as Markdown."""
    names = ["model", "variant", "target tokens/s", "per second of processor", "times the first", "spread"]
    head = f"| {' | '.join(names)} | share of the peak |"
    rows = [
        f"| {m.size} | {m.variant} | {m.tokens_per_second:,.0f} | {m.tokens_per_cpu_second:,.0f} | {m.ratio} "
        f"| {m.spread[0]} to {m.spread[1]} | {m.share_of_peak:.1%} |"
        for m in measured
    ]
    return "\n".join([head, "| --- | --- | ---: | ---: | ---: | ---: | ---: |", *rows]) + "\n"


def main(
    out: Path = Path("results"),
    sizes: tuple[str, ...] = ("small", "multi30k"),
    tokens: int = 4096,
    count: int = 4,
    rounds: int = 5,
    threads: int = 0,
    skip: tuple[str, ...] = (),
    device: str = "cpu",
) -> None:
    """Measure and write.

    Args:
        out: folder of the result.
        sizes: of small, multi30k, base, big.
        tokens: target tokens a batch.
        count: batches a round.
        rounds: how often every variant has its turn.
        threads: CPU threads; 0: all cores.
        skip: variants to leave out, e.g. "eager fp32".
        device: cpu, cuda.
    """
    where = hardware.pick_device(device)
    hardware.keep_memory()
    hardware.use_threads(threads)
    on_cpu = VARIANTS if hardware.has_fast_bf16(where) else FP32_VARIANTS
    all_variants = on_cpu if where.type == "cpu" else GPU_VARIANTS
    variants = [v for v in all_variants if v.name not in skip and (native.LEVELS or not v.native)]
    shapes = FREE if where.type == "cpu" else GPU_SHAPES
    measured = [
        row
        for size in sizes
        for row in measure(size, variants, batches(size, tokens, shapes, count), rounds, where)
    ]
    out.mkdir(parents=True, exist_ok=True)
    found = {
        **environment(),
        "tokens": tokens,
        "batches": count,
        "rounds": rounds,
        "measured": [asdict(row) for row in measured],
    }
    del found["data"]
    name = "bench-training.json" if where.type == "cpu" else f"bench-training-{where.type}.json"
    (out / name).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(table(measured), end="")


if __name__ == "__main__":
    tyro.cli(main)
