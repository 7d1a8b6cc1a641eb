"""Train one model with multihead and its peers, on the same sentences, in turn: A B C A B C.

    python benchmarks/peers/training.py [--sizes small base] [--rounds 3] [--threads 1]
    python benchmarks/peers/training.py --sizes rnn          an LSTM with attention, beside JoeyNMT's

Run it alone: two benchmarks on one machine slow each other many times over. `make bench-peers-training` makes
an environment for each peer; a contestant whose environment is missing is left out and named. Each works in a
process of its own, on batches that lie ready as tensors, with Adam, label smoothing and clipped gradients:

- multihead: bf16 products with the native kernels, and without them (a machine without a compiler). Where the
  processor has no bf16, everybody is in fp32.
- Hugging Face: ``MarianMTModel`` from scratch in a plain loop (no ``Trainer``), fused AdamW, fp32 weights, in
  fp32 and under bf16 autocast; masks made beforehand; its "eager" attention, faster than "sdpa" at these
  lengths; on a GPU "sdpa".
- Eole: its own model, loss, optimiser and ``Trainer``, batch by batch, in fp32 and in bf16 as its settings
  have it (autocast). Its layers are pre-norm, so it has two norms, 4 d_model parameters, more.
- JoeyNMT: its own model, loss, optimiser and clipping, in fp32 and under bf16 autocast, which its settings do
  not offer on a CPU.

Transformer: post-norm, ReLU, one matrix for both embeddings and the output layer, label smoothing 0.1,
dropout 0.1, none of attention weights or inside the feed-forward networks but where a peer cannot leave it
out. LSTM: a layer that reads both ways, one that writes, additive attention, input feeding. Batches: random
ids in sentences as long as image captions, sorted by length, of so many target tokens. Tokens are real
target tokens, end symbols included, padding not. That all do the same work is looked after: equal token
counts, parameter counts printed, a loss that falls.

On a GPU (``--device cuda``): multihead with its graphs and without, and Hugging Face.

multihead tells the C library to keep freed memory; with ``--keep-memory`` the peers get the same setting,
from outside, which none of them offers.

Prints target tokens a second (median over rounds, lowest..highest), the same by the process' own time, how
many times as fast multihead is (median of the rounds' ratios, by the clock and by that time), the peak of
resident memory with that before the first update (mostly libraries, which differ), parameters, and loss
before and after. Writes results/bench-training-peers.json with the machine.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from process import Process
from workload import BOS, EOS, PAD, RECURRENT_SIZES, SIZES, VOCAB, batches

from multihead.data.batches import FREE
from multihead.hardware import has_fast_bf16
from multihead.run import environment

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".envs"
TASK = {
    "pad": PAD,
    "bos": BOS,
    "eos": EOS,
    "label_smoothing": 0.1,
    "clip_norm": 1.0,
    "learning_rate": 1e-4,
    "betas": (0.9, 0.98),
    "eps": 1e-9,
}
ALL_SIZES = {**SIZES, **RECURRENT_SIZES}
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str((1 << 31) - 1)}
"""What ``hardware.keep_memory`` sets, as the GNU C library's environment variables."""


@dataclass(frozen=True)
class Contestant:
    """Who trains: a script, the package that it needs, its settings.

    Attributes:
        home: its environment under ``.envs``; "": the one that this script runs in.
        recurrent: whether it has the LSTM too.
    """

    name: str
    script: str
    package: str
    settings: dict[str, object]
    home: str = ""
    recurrent: bool = False

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return ENVIRONMENTS / self.home / "bin" / "python" if self.home else Path(sys.executable)

    @property
    def present(self) -> bool:
        """Whether it is installed there."""
        if not self.home:
            return find_spec(self.package) is not None
        return any((ENVIRONMENTS / self.home).glob(f"lib/python*/site-packages/{self.package}/__init__.py"))


OURS = ("training_ours.py", "multihead")
EOLE = ("training_eole.py", "eole")
JOEYNMT = ("training_joeynmt.py", "joeynmt")
HUGGING_FACE = ("training_huggingface.py", "transformers")
CONTESTANTS = (
    Contestant("multihead", *OURS, {"precision": "auto", "native": True, "multiple": 1}, recurrent=True),
    Contestant(
        "without native kernels",
        *OURS,
        {"precision": "auto", "native": False, "multiple": 4},
        recurrent=True,
    ),
    Contestant(
        "Hugging Face bf16", *HUGGING_FACE, {"precision": "bf16", "multiple": 8, "attention": "eager"}
    ),
    Contestant(
        "Hugging Face fp32", *HUGGING_FACE, {"precision": "fp32", "multiple": 8, "attention": "eager"}
    ),
    Contestant("Eole bf16", *EOLE, {"precision": "bf16", "multiple": 8, "optimizer": "adam"}, home="eole"),
    Contestant("Eole fp32", *EOLE, {"precision": "fp32", "multiple": 8, "optimizer": "adam"}, home="eole"),
    Contestant(
        "JoeyNMT bf16", *JOEYNMT, {"precision": "bf16", "multiple": 8}, home="joeynmt", recurrent=True
    ),
    Contestant(
        "JoeyNMT fp32", *JOEYNMT, {"precision": "fp32", "multiple": 8}, home="joeynmt", recurrent=True
    ),
)
GPU_CONTESTANTS = (
    Contestant("multihead", *OURS, {"precision": "auto", "graphs": True}),
    Contestant("without graphs", *OURS, {"precision": "auto", "graphs": False}),
    Contestant("Hugging Face bf16", *HUGGING_FACE, {"precision": "bf16", "multiple": 8, "attention": "sdpa"}),
    Contestant("Hugging Face fp32", *HUGGING_FACE, {"precision": "fp32", "multiple": 8, "attention": "sdpa"}),
)
"""On a GPU: those whose files here can work on one."""


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["small", "base"], choices=sorted(ALL_SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=4096, help="target tokens a batch")
    parser.add_argument("--count", type=int, default=4, help="batches a round")
    parser.add_argument("--only", nargs="+", default=[], help="contestants, by their names; default: all")
    parser.add_argument("--skip", nargs="+", default=[], help="contestants to leave out, by their names")
    parser.add_argument(
        "--keep-memory", action="store_true", help="the allocator's setting for the peers too"
    )
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("results/bench-training-peers.json"))
    given = parser.parse_args()

    everybody = CONTESTANTS if given.device == "cpu" else GPU_CONTESTANTS
    wanted = [who for who in everybody if who.name not in given.skip]
    wanted = [who for who in wanted if not given.only or who.name in given.only]
    if not has_fast_bf16(torch.device(given.device)):  # PyTorch's way around it takes forty times as long
        wanted = [who for who in wanted if who.settings["precision"] != "bf16"]
    present = [who for who in wanted if who.present]
    for who in wanted:
        if who not in present:
            where = f" in {ENVIRONMENTS / who.home}" if who.home else ""
            print(f"{who.name}: left out, {who.package} is not installed{where}", file=sys.stderr)
    measured: dict[str, dict[str, Any]] = {}
    for size in given.sizes:
        contestants = [who for who in present if who.recurrent or size not in RECURRENT_SIZES]
        measured[size] = _measure(size, contestants, given)
        _write(given, present, measured)  # whatever becomes of the others


def _measure(size: str, present: list[Contestant], given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        tokens = _prepare(Path(work), size, given.tokens, given.count)
        processes = [_start(who, Path(work), given) for who in present]
    rows: dict[str, dict[str, Any]] = {
        one.name: {**one.ready, "seconds": [], "cpu": [], "losses": []} for one in processes
    }
    warm_up = 1 if given.device == "cpu" else 3  # graphs are recorded in the second
    for number in range(given.rounds + warm_up):
        for one in processes:
            warm = number < warm_up
            answer = one.ask({"batches": list(range(1 if warm and warm_up == 1 else given.count))})
            row = rows[one.name]
            row["losses"].append(answer["loss"])
            if warm:
                continue
            if answer["tokens"] != tokens:
                raise SystemExit(f"{one.name} counts {answer['tokens']} target tokens, not {tokens}")
            row["seconds"].append(answer["seconds"])
            row["cpu"].append(answer["cpu"])
            row["peak_mib"] = round(answer["peak_mib"], 1)
    for one in processes:
        one.close()
    _judge(rows, tokens)
    print(_table(size, rows), flush=True)
    return rows


def _start(who: Contestant, work: Path, given: argparse.Namespace) -> Process:
    settings = json.dumps({**who.settings, "threads": given.threads, "device": given.device})
    command = [who.python, HERE / who.script, work, settings]
    return Process(who.name, command, given.threads, KEEP_MEMORY if given.keep_memory else {})


def _prepare(work: Path, size: str, tokens: int, count: int) -> int:
    """Write the task for everybody; return how many target tokens a round has."""
    made = batches(size, tokens, FREE, count)
    rows = [
        {
            "source": _unpadded(batch.source.ids_BS, batch.source.lengths_B),
            "target": _unpadded(batch.target_BT, batch.target_lengths_B + 1),
        }
        for batch in made
    ]
    kind = "rnn_attention" if size in RECURRENT_SIZES else "transformer"
    task = {**TASK, "kind": kind, "model": ALL_SIZES[size], "vocab": VOCAB[size], "batches": rows}
    (work / "training.json").write_text(json.dumps(task), encoding="utf-8")
    return sum(batch.tokens for batch in made)


def _unpadded(ids_BN: torch.Tensor, lengths_B: torch.Tensor) -> list[list[int]]:
    return [row[:length] for row, length in zip(ids_BN.tolist(), lengths_B.tolist(), strict=True)]


def _judge(rows: dict[str, dict[str, Any]], tokens: int) -> None:
    """Add speeds and ratios; say where somebody does not learn or trains another model."""
    parameters = {row["parameters"] for row in rows.values()}
    if len(parameters) > 1:
        print(f"numbers of parameters differ: {sorted(parameters)}", file=sys.stderr)
    for name, row in rows.items():
        if row["losses"][-1] >= row["losses"][0]:
            print(f"{name}: the loss does not fall: {row['losses']}", file=sys.stderr)
        row["tokens_per_second"] = _spread([tokens / seconds for seconds in row["seconds"]])
        row["tokens_per_cpu_second"] = _spread([tokens / seconds for seconds in row["cpu"]])
        for own in OURS_BY_NAME:
            if own in rows:
                row[f"{own}: times as fast"] = {
                    by: _spread([b / a for a, b in zip(rows[own][by], row[by], strict=True)])
                    for by in ("seconds", "cpu")
                }


OURS_BY_NAME = ("multihead", "without native kernels", "without graphs")


def _spread(values: list[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def _table(size: str, rows: dict[str, dict[str, Any]]) -> str:
    """What was measured, as Markdown."""
    owns = [own for own in OURS_BY_NAME if own in rows]
    head = ["", "target tokens/s (lowest..highest)", "a second of processor"]
    head += [f"{own} is faster by (lowest..highest), by processor time" for own in owns]
    head += ["peak MiB (before the first update)", "parameters", "loss"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, row in rows.items():
        low, middle, high = row["tokens_per_second"]
        cells = [name, f"{middle:,.0f} ({low:,.0f}..{high:,.0f})", f"{row['tokens_per_cpu_second'][1]:,.0f}"]
        for own in owns:
            ratio = row[f"{own}: times as fast"]
            low, middle, high = ratio["seconds"]
            cells.append(f"{middle:.2f} ({low:.2f}..{high:.2f}), {ratio['cpu'][1]:.2f}")
        cells += [f"{row['peak_mib']:,.0f} ({row['ready_mib']:,.0f})", f"{row['parameters']:,}"]
        cells.append(f"{row['losses'][0]:.2f} to {row['losses'][-1]:.2f}")
        lines.append(cells)
    return f"\n{size}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _write(given: argparse.Namespace, present: list[Contestant], measured: dict[str, Any]) -> None:
    told = {
        "environment": environment({}),
        "settings": {
            **TASK,
            **{
                key: getattr(given, key)
                for key in ("device", "threads", "rounds", "tokens", "count", "keep_memory")
            },
            "models": {size: {**ALL_SIZES[size], "vocab": VOCAB[size]} for size in measured},
            "contestants": [asdict(who) for who in present],
        },
        "measured": measured,
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten to {given.out}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
