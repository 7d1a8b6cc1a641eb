"""Throughput, latency and memory of `multihead serve` beside the same sentences translated offline.

    python benchmarks/serve_load.py runs/de-en --src test.de --out results/bench-serve.json

The server runs on one core, the clients on another (Linux). Each client sends a sentence at a time on a
connection that it keeps. Offline, one process translates the same sentences on the server's core. Run it on an
idle machine.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from multihead.text.lines import read_lines


def pinned(core: int, command: Sequence[str]) -> list[str]:
    """Return a command that runs on one core."""
    return ["taskset", "-c", str(core), *command]


def offline(run: str, source: Path, core: int, options: Sequence[str]) -> float:
    """Return sentences a second of `multihead translate`, loading excluded: the difference of two sizes."""
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    seconds = []
    for part in (lines[: len(lines) // 2], lines):
        began = time.perf_counter()
        command = pinned(core, [sys.executable, "-m", "multihead", "translate", run, "--lines", *options])
        subprocess.run(command, input="".join(part).encode(), stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - began)
    if seconds[1] < 1.2 * seconds[0]:
        raise SystemExit("too few sentences to measure beside the time of loading: give more, or --repeat 10")
    return (len(lines) - len(lines) // 2) / (seconds[1] - seconds[0])


def client(
    address: str, lines: Sequence[str], taken: list[int], free: threading.Lock, times: list[float]
) -> None:
    """Send sentences until none are left."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
    while True:
        with free:
            number = taken[0]
            taken[0] += 1
        if number >= len(lines):
            return
        body = json.dumps({"q": lines[number]}).encode()
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


def loaded(address: str, lines: Sequence[str], clients: int) -> dict[str, float]:
    """Send all sentences by this number of clients; return sentences a second and latencies in ms."""
    times: list[float] = []
    taken, free = [0], threading.Lock()
    threads = [
        threading.Thread(target=client, args=(address, lines, taken, free, times)) for _ in range(clients)
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


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--src", required=True, help="source sentences, one a line")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--repeat", type=int, default=1, help="how often the file is sent (memory: many)")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--cores", type=int, nargs=2, default=[0, 1], help="of the server, of the clients")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    server_core, client_core = given.cores
    lines = [line for line in read_lines(given.src, "utf-8") if line.strip()] * given.repeat
    plain = Path(given.out or "serve-load").with_suffix(".source.txt")
    plain.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    options = ["--precision", given.precision]
    offline_speed = offline(given.run, plain, server_core, options)
    plain.unlink()
    os.sched_setaffinity(0, {client_core})
    command = [sys.executable, "-m", "multihead", "serve", given.run, "--port", "0", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(pinned(server_core, command), stdout=subprocess.PIPE, env=environment) as server:
        assert server.stdout is not None
        address = ""
        while not address.startswith("http://"):
            address = server.stdout.readline().decode().strip()
        try:
            loaded(address, lines[:64], 8)
            before = memory(server.pid)
            found = [loaded(address, lines, clients) for clients in given.clients]
            after = memory(server.pid)
        finally:
            server.terminate()
    for one in found:
        one["share_of_offline"] = round(one["sentences_per_second"] / offline_speed, 3)
    result = {
        "offline_sentences_per_second": round(offline_speed, 1),
        "served": found,
        "memory_mb": [round(before, 1), round(after, 1)],
        "precision": given.precision,
    }
    print(json.dumps(result, indent=1))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
