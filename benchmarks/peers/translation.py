"""Translate a test set with multihead and its peers, same weights, same ids, interleaved (A B A B).

    python benchmarks/peers/translation.py RUN --src test.en.gz --tgt test.de.gz [--rounds 3] [--beams 1 5]
    python benchmarks/peers/translation.py RUN --src ... --tgt ... --device cuda --out OUT.json    on a GPU
    python benchmarks/peers/translation.py STUDENT --src ... --tgt ... --beams 1    beside Firefox's engine

Run it alone: two benchmarks on one machine slow each other many times over. `make bench-peers` installs the
peers; one that is missing is left out and named. Each works in a process of its own, at its best setting.
Prints sentences a second with the spread over rounds, the ratio of ours to theirs, the median of the rounds'
ratios, and BLEU of each; writes results/bench-translation.json with the machine.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from process import Process
from safetensors.torch import save_file

from multihead.apps.export import ctranslate2
from multihead.apps.export.ctranslate2 import POSITIONS
from multihead.apps.export.firefox import exporting as firefox
from multihead.errors import UserError
from multihead.nn.positions import sinusoids
from multihead.run import Run
from multihead.run.environment import environment
from multihead.scores import bleu
from multihead.system.hardware import has_fast_bf16
from multihead.text.corpus import read_lines
from multihead.text.tokenizer import Tokenizer

HERE = Path(__file__).parent
WORK = HERE / ".work"
ALONE = 100
"""Sentences that are translated one by one for the latency."""
CALIBRATION = 50
"""Sentences on which the int8 products of Firefox's engine are calibrated."""


@dataclass(frozen=True)
class Contestant:
    """A toolkit in translation: a script, the package it needs, its settings."""

    name: str
    script: str
    package: str
    settings: dict[str, object]


OURS, CT2, HUGGING_FACE, FIREFOX = (
    ("ours.py", "multihead"),
    ("ctranslate2_peer.py", "ctranslate2"),
    ("huggingface_peer.py", "transformers"),
    ("fxtranslate_peer.py", "fxtranslate"),
)
CONTESTANTS = (
    Contestant("multihead", *OURS, {"precision": "auto", "batch": 4096, "native": True}),
    Contestant("multihead int8", *OURS, {"precision": "int8", "batch": 4096, "native": True}),
    Contestant("multihead float32", *OURS, {"precision": "float32", "batch": 4096, "native": True}),
    Contestant("without native kernels", *OURS, {"precision": "auto", "batch": 2048, "native": False}),
    Contestant("CTranslate2 int8", *CT2, {"precision": "int8", "batch": 32}),
    Contestant("CTranslate2 float32", *CT2, {"precision": "float32", "batch": 32}),
    Contestant("Hugging Face float32", *HUGGING_FACE, {"precision": "float32", "batch": 64}),
    Contestant("Hugging Face bf16", *HUGGING_FACE, {"precision": "bf16", "batch": 64}),
    Contestant("Firefox int8", *FIREFOX, {"precision": "int8"}),
)
GPU_CONTESTANTS = (
    Contestant("multihead", *OURS, {"precision": "auto", "batch": 65_536, "native": False}),
    Contestant("CTranslate2 float16", *CT2, {"precision": "float16", "batch": 1024, "beside": 1}),
    Contestant("CTranslate2 float16, 4 beside", *CT2, {"precision": "float16", "batch": 256, "beside": 4}),
    Contestant("Hugging Face bf16", *HUGGING_FACE, {"precision": "bf16", "batch": 1024}),
)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--src", required=True)
    parser.add_argument("--tgt", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--sentences", type=int, default=0, help="only the first so many; 0: all")
    parser.add_argument("--skip", nargs="+", default=[], help="contestants to leave out, by their names")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--out", type=Path, default=Path("results/bench-translation.json"))
    given = parser.parse_args()

    run = Run.open(given.run)
    count = given.sentences or None
    sources, references = (list(read_lines(name))[:count] for name in (given.src, given.tgt))
    source, target = run.tokenizers()
    refused = _prepare(run, target, sources[:CALIBRATION])
    ids = source.encode_batch(sources)
    everybody = CONTESTANTS if given.device == "cpu" else GPU_CONTESTANTS
    wanted = [who for who in everybody if who.name not in given.skip]
    wanted = [who for who in wanted if who.package not in refused]
    if given.beams != [1]:  # Firefox's engine searches greedily
        wanted = [who for who in wanted if who.package != "fxtranslate"]
    if not has_fast_bf16(torch.device(given.device)):  # PyTorch's way around it takes forty times as long
        wanted = [who for who in wanted if who.settings["precision"] != "bf16"]
    present = [who for who in wanted if find_spec(who.package)]
    for who in wanted:
        if who not in present:
            print(f"{who.name}: left out, {who.package} is not installed", file=sys.stderr)
    same = {
        "threads": given.threads,
        "device": given.device,
        "length_penalty": run.recipe.search.length_penalty,
    }
    processes = [_start(who, same) for who in present]
    measured: dict[str, Any] = {}
    for beam in given.beams:
        rows: dict[str, dict[str, Any]] = {one.name: {"seconds": [], "latency_ms": []} for one in processes}
        for one in processes:
            one.ask(_request(ids[:64], beam))  # warm
        for _ in range(given.rounds):
            for one in processes:
                row = rows[one.name]
                answer = one.ask(_request(ids, beam))
                row["seconds"].append(answer["seconds"])
                row["bleu"] = bleu(_texts(answer["ids"], target), references).value
                alone = one.ask(_request(ids[:ALONE], beam, alone=True))["seconds"]
                row["latency_ms"].append(1000 * alone / min(ALONE, len(ids)))
        measured[f"beam {beam}"] = _told(rows, len(ids), f"beam {beam}")
        _write(given.out, measured, given, len(ids))  # whatever becomes of the others
    for one in processes:
        one.close()


def _start(who: Contestant, same: dict[str, Any]) -> Process:
    settings = json.dumps({**who.settings, **same})
    return Process(who.name, [sys.executable, HERE / who.script, WORK, settings], same["threads"])


def _request(ids: list[list[int]], beam: int, *, alone: bool = False) -> dict[str, object]:
    return {"ids": ids, "beam": beam, "alone": alone}


def _texts(outputs: list[Any], target: Tokenizer) -> list[str]:
    """Return what a contestant wrote as text: ids, unless its engine gives texts."""
    return outputs if isinstance(outputs[0], str) else target.decode_batch(outputs)


def _prepare(run: Run, target: Tokenizer, lines: list[str]) -> set[str]:
    """Lay out the same weights for everybody, in a folder that git ignores; return who cannot take them."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    (WORK / "run").symlink_to(run.folder.resolve())
    pieces = [target.piece(number) for number in range(target.vocab_size)]
    (WORK / "pieces.json").write_text(json.dumps(pieces), encoding="utf-8")
    controls = {"pad": target.pad_id, "bos": target.bos_id, "eos": target.eos_id}
    (WORK / "controls.json").write_text(json.dumps(controls), encoding="utf-8")
    settings: Any = run.recipe.model
    if settings.first_input != "zero":  # Hugging Face's Marian begins with a token
        interleaved = settings.positions == "sinusoidal"
        table = sinusoids(POSITIONS, settings.d_model, interleaved=interleaved)
        save_file({"table": table}, WORK / "positions.safetensors")
    refused = set() if settings.first_input != "zero" else {"transformers"}
    exports: dict[str, Callable[[], object]] = {
        "ctranslate2": lambda: [
            ctranslate2.export(run, WORK / f"ctranslate2-{precision}", precision)
            for precision in ("int8", "float32")
        ],
        "fxtranslate": lambda: firefox.export(run, WORK / "firefox", lines),
    }
    for package, export in exports.items():
        try:
            export()
        except UserError as error:
            print(f"{package} is left out: {error}", file=sys.stderr)
            refused.add(package)
    return refused


def _told(rows: dict[str, dict[str, Any]], sentences: int, title: str) -> dict[str, Any]:
    for name, row in rows.items():
        own = rows["multihead float32" if "float32" in name else "multihead"]
        row["sentences_per_second"] = sentences / statistics.median(row["seconds"])
        row["ours_over_theirs"] = {
            key: _spread([b / a for a, b in zip(own[key], row[key], strict=True)])
            for key in ("seconds", "latency_ms")
        }
    print(
        f"{title:24} sentences/s   lowest..highest      ms alone   BLEU   ours is faster by (lowest..highest)"
    )
    for name, row in rows.items():
        speeds = sorted(sentences / second for second in row["seconds"])
        low, middle, high = row["ours_over_theirs"]["seconds"]
        print(
            f"  {name:22} {row['sentences_per_second']:11,.0f}   {speeds[0]:7,.0f}..{speeds[-1]:<7,.0f}"
            f" {statistics.median(row['latency_ms']):12.1f} {row['bleu']:7.2f}"
            f"   {middle:.2f} ({low:.2f}..{high:.2f})"
        )
    return rows


def _spread(values: list[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def _write(path: Path, measured: dict[str, Any], given: argparse.Namespace, sentences: int) -> None:
    settings = {
        **{key: getattr(given, key) for key in ("device", "threads", "rounds")},
        "sentences": sentences,
    }
    told = {"environment": environment({}), "settings": settings, "measured": measured}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    print(f"written to {path}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
