"""Throughput, latency and memory of `multihead serve` beside the same sentences translated offline.

    python benchmarks/serve_load.py runs/de-en --src test.de --out results/bench-serve.json

The server runs on one core, the clients on another (Linux). Each client sends a sentence at a time, on a
connection that it keeps. Offline, one process translates the same sentences on the core of the server, in
turn with the clients, because a processor's speed changes. Run it on an idle machine.
"""

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from multihead.run.environment import environment
from multihead.text.lines import read_lines


def pinned(core: int, command: Sequence[str]) -> list[str]:
    """Return a command that runs on one core."""
    return ["taskset", "-c", str(core), *command]


OFFLINE = """
import sys, time
from multihead.tasks.translation.lines.loading import load_translator
from multihead.tasks.translation.texts.text_translator import TextTranslator
run, precision, file = sys.argv[1:]
lines = open(file, encoding="utf-8").read().splitlines()
texts = TextTranslator.of_runs(load_translator(run, device="cpu", precision=precision), run)
texts.translate(lines)
print(0, flush=True)
for _ in sys.stdin:
    began = time.perf_counter()
    texts.translate(lines)
    print(len(lines) / (time.perf_counter() - began), flush=True)
"""
"""The work of `multihead translate` on a file, once for each line of standard input."""


def client(
    address: str,
    lines: Sequence[str],
    named: dict[str, str],
    taken: list[int],
    free: threading.Lock,
    times: list[float],
) -> None:
    """Send sentences until none are left."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
    while True:
        with free:
            number = taken[0]
            taken[0] += 1
        if number >= len(lines):
            return
        body = json.dumps({"q": lines[number], **named}).encode()
        began = time.perf_counter()
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{answer.status}: {content.decode()}")
        times.append(time.perf_counter() - began)


def memory(process: int) -> float:
    """Return the resident memory of a process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def loaded(address: str, lines: Sequence[str], named: dict[str, str], clients: int) -> dict[str, float]:
    """Send all sentences by this number of clients; return sentences a second and latencies in ms."""
    times: list[float] = []
    taken, free = [0], threading.Lock()
    threads = [
        threading.Thread(target=client, args=(address, lines, named, taken, free, times))
        for _ in range(clients)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    ordered = sorted(times)
    return {
        "clients": clients,
        "requests": len(times),
        "sentences_per_second": round(len(times) / seconds, 1),
        "p50_ms": round(1000 * ordered[len(ordered) // 2], 1),
        "p99_ms": round(1000 * ordered[int(0.99 * len(ordered))], 1),
    }


def measured(given: argparse.Namespace, lines: Sequence[str], file: Path) -> dict[str, Any]:
    """Translate offline and served in turn, and return the medians of all rounds."""
    server_core, client_core = given.cores
    os.sched_setaffinity(0, {client_core})
    options = ["--precision", given.precision]
    serve = [sys.executable, "-m", "multihead", "serve", given.run, "--port", "0", *options]
    alone = [sys.executable, "-c", OFFLINE, given.run, given.precision, str(file)]
    popen: Any = partial(subprocess.Popen, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with (
        popen(pinned(server_core, alone)) as other,
        popen(pinned(server_core, serve), env={**os.environ, "PYTHONUNBUFFERED": "1"}) as server,
    ):
        try:
            other.stdout.readline()
            address, named = "", {}
            while not address.startswith("http://"):
                address = server.stdout.readline().strip()
                if direction := re.match(r"(\S+) to (\S+):", address):
                    named = dict(zip(("source", "target"), direction.groups(), strict=True))
            loaded(address, lines, named, max(given.clients))  # as after the first minutes of a server
            before = memory(server.pid)
            speeds: list[float] = []
            rounds: list[list[dict[str, float]]] = []
            for _ in range(given.rounds):
                other.stdin.write("again\n")
                other.stdin.flush()
                speeds.append(float(other.stdout.readline()))
                sent = [*lines] * given.repeat
                rounds.append([loaded(address, sent, named, clients) for clients in given.clients])
            after = memory(server.pid)
        finally:
            server.terminate()
            other.terminate()
    served = [
        {name: round(statistics.median(one[name] for one in each), 1) for name in each[0]}
        for each in zip(*rounds, strict=True)
    ]
    for number, one in enumerate(served):
        shares = [r[number]["sentences_per_second"] / s for r, s in zip(rounds, speeds, strict=True)]
        one["share_of_offline"] = round(statistics.median(shares), 3)
        one["shares"] = [round(share, 3) for share in shares]
    return {
        "offline_sentences_per_second": round(statistics.median(speeds), 1),
        "served": served,
        "requests": (given.rounds * len(given.clients) * given.repeat + 1) * len(lines),
        "memory_mb": [round(before, 1), round(after, 1)],
    }


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--src", required=True, nargs="+", help="source sentences, one a line")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--rounds", type=int, default=5, help="offline and served in turn")
    parser.add_argument("--repeat", type=int, default=1, help="how often a round sends all sentences")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--cores", type=int, nargs=2, default=[0, 1], help="of the server, of the clients")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    # Equal sentences are translated once offline.
    every = (line for file in given.src for line in read_lines(file, "utf-8") if line.strip())
    lines = list(dict.fromkeys(every))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "source.txt"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        result = measured(given, lines, file)
    result |= {"precision": given.precision, "environment": environment({})}
    print(json.dumps(result, indent=1))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
