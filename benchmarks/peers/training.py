"""Speed of training compared with other toolkits: one model, the same sentences, interleaved (A B C A B C).

    python benchmarks/peers/training.py                 both columns, one and two threads, five rounds
    python benchmarks/peers/training.py --sizes rnn     an LSTM with attention, beside JoeyNMT's

Run nothing beside it. The same command resumes: the file is written after every round, and rounds that it
holds are not repeated; delete it to start again. `make bench-peers-training` makes an environment for each
peer; a contestant whose environment is missing is left out and named (see contestants.py for what each does).

Peers are measured twice in every round: as they come, and with the C library told to keep freed memory
(", memory kept"), a setting that multihead makes for itself. Where the processor computes in bf16, peers
train in bf16, which is faster for all of them than fp32; elsewhere in fp32. ``--precisions bf16 fp32``
measures both.

The model is a post-norm Transformer with ReLU, one matrix for both embeddings and the output layer, label
smoothing 0.1, dropout 0.1 (of attention weights and inside the feed-forward networks only where a peer cannot
leave it out), or an LSTM: one bidirectional encoder layer, one decoder layer, additive attention, input
feeding. Batches are random ids in sentences as long as image captions, sorted by length, held as tensors, of
so many target tokens. Tokens are real target tokens: end symbols count, padding does not. Token counts are
checked to be equal, parameter counts are printed, and the loss must fall.

Prints target tokens a second (median, lowest to highest round), the same by the process's CPU time, how many
times as fast multihead is (median of the rounds' ratios), peak resident memory with that before the first
update (mostly libraries, which differ), parameters, and the loss before and after.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from contestants import ENVIRONMENTS, Contestant, on_cpu, on_gpu
from process import Process
from workload import BOS, EOS, PAD, RECURRENT_SIZES, SIZES, VOCAB, batches

from multihead.data.batches import FREE
from multihead.run.environment import environment
from multihead.system.hardware import has_fast_bf16

HERE = Path(__file__).parent
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
OURS_BY_NAME = ("multihead", "without native kernels", "without graphs")
Rows = dict[str, dict[str, Any]]
"""Measurements of one size and number of threads, by contestant."""


def main() -> None:
    """Measure, print and write."""
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["small"], choices=sorted(ALL_SIZES))
    parser.add_argument("--threads", nargs="+", type=int, help="default: 1 and all cores; with a GPU all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=4096, help="target tokens a batch")
    parser.add_argument("--count", type=int, default=4, help="batches a round")
    parser.add_argument("--precisions", nargs="+", choices=["bf16", "fp32"], help="of the peers")
    parser.add_argument("--only", nargs="+", default=[], help="contestants, by their names; default: all")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--out", type=Path, default=Path("results/bench-training-peers-allocator.json"))
    given = parser.parse_args()
    given.threads = given.threads or sorted({1, cores} if given.device == "cpu" else {cores})

    fast = has_fast_bf16(torch.device(given.device))
    precisions = given.precisions or (["bf16"] if fast else ["fp32"])
    everybody = on_cpu(tuple(precisions)) if given.device == "cpu" else on_gpu()
    wanted = [who for who in everybody if not given.only or who.name in given.only]
    present = [who for who in wanted if who.present]
    for who in wanted:
        if who not in present:
            where = f" in {ENVIRONMENTS / who.home}" if who.home else ""
            print(f"{who.name}: left out, {who.package} is not installed{where}", file=sys.stderr)
    told = _begun(given, present)
    for size in given.sizes:
        contestants = [who for who in present if who.recurrent or size not in RECURRENT_SIZES]
        for threads in given.threads:
            _measure(size, threads, contestants, given, told)


def _begun(given: argparse.Namespace, present: list[Contestant]) -> dict[str, Any]:
    """Return what an interrupted run has written, or an empty result of these settings."""
    keys = ("device", "threads", "rounds", "tokens", "count", "sizes")
    settings = {
        **TASK,
        **{key: getattr(given, key) for key in keys},
        "models": {size: {**ALL_SIZES[size], "vocab": VOCAB[size]} for size in given.sizes},
        "contestants": [asdict(who) for who in present],
    }
    told = {"environment": environment({}), "settings": json.loads(json.dumps(settings)), "measured": {}}
    if not given.out.exists():
        return told
    found: dict[str, Any] = json.loads(given.out.read_text(encoding="utf-8"))
    for part in ("environment", "settings"):
        if found[part] != told[part]:
            raise SystemExit(f"{given.out} has another {part}. Delete it, or give another --out.")
    return found


def _measure(
    size: str, threads: int, present: list[Contestant], given: argparse.Namespace, told: dict[str, Any]
) -> None:
    """Measure the rounds that are missing, writing the file after each."""
    rows: Rows = told["measured"].setdefault(size, {}).setdefault(str(threads), {})
    done = min((len(row["seconds"]) for row in rows.values()), default=0)
    if done >= given.rounds:
        return
    with tempfile.TemporaryDirectory() as work:
        tokens = _prepare(Path(work), size, given.tokens, given.count)
        processes = [_start(who, threads, Path(work), given) for who in present]
    for one in processes:
        rows.setdefault(one.name, {**one.ready, "seconds": [], "cpu": [], "losses": []})
        for _ in range(1 if given.device == "cpu" else 3):  # warm up; graphs are recorded in the second
            warm = one.ask({"batches": list(range(1 if given.device == "cpu" else given.count))})
        if not rows[one.name]["losses"]:
            rows[one.name]["losses"].append(warm["loss"])
    for _ in range(done, given.rounds):
        answers = {one.name: one.ask({"batches": list(range(given.count))}) for one in processes}
        for name, answer in answers.items():
            if answer["tokens"] != tokens:
                raise SystemExit(f"{name} counts {answer['tokens']} target tokens, not {tokens}")
            row = rows[name]
            row["losses"].append(answer["loss"])
            row["seconds"].append(answer["seconds"])
            row["cpu"].append(answer["cpu"])
            row["peak_mib"] = round(answer["peak_mib"], 1)
        _judge(rows, tokens)
        _write(given.out, told)
    for one in processes:
        one.close()
    print(_table(f"{size}, {threads} thread{'s' * (threads > 1)}", rows), flush=True)


def _start(who: Contestant, threads: int, work: Path, given: argparse.Namespace) -> Process:
    settings = json.dumps({**who.settings, "threads": threads, "device": given.device})
    return Process(who.name, [who.python, HERE / who.script, work, settings], threads, who.variables)


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


def _judge(rows: Rows, tokens: int) -> None:
    """Add speeds and ratios; warn of a loss that does not fall and of models that differ."""
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


def _spread(values: list[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def _table(title: str, rows: Rows) -> str:
    """The measurements as Markdown."""
    owns = [own for own in OURS_BY_NAME if own in rows]
    head = ["", "target tokens/s (lowest..highest)", "a second of CPU time"]
    head += [f"{own} is faster by (lowest..highest), by CPU time" for own in owns]
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
    return f"\n{title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _write(out: Path, told: dict[str, Any]) -> None:
    """Replace the file in one step, so that an interruption leaves the old or the new one."""
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = out.with_suffix(".new")
    fresh.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    fresh.replace(out)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
