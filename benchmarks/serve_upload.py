"""Cost of an upload to `multihead serve`: time, memory, /health, other clients, and its end when abandoned.

    python benchmarks/serve_upload.py runs/de-en --src test.de --out results/bench-serve-upload.json

Documents of 720,000 characters are made of the sentences: a line each, paragraphs, a single line, and HTML
with inline tags. While the server translates one, /health is requested 20 times a second. Then the client of
the first leaves after five seconds, and 64 clients send sentences without and beside an upload, in turn.
Server and clients share the cores; run it on an idle machine. On a busy one, only processor seconds and
memory can be compared.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serve_load import loaded, memory

from multihead.run.environment import environment
from multihead.text.lines import read_lines

CHARACTERS = 720_000
BOUNDARY = "a-boundary-between-parts"


def make_documents(lines: Sequence[str], characters: int) -> dict[str, str]:
    """Return documents of about so many characters by file name."""
    repeated: list[str] = []
    while sum(map(len, repeated)) + len(repeated) < characters:
        # A number keeps equal sentences apart, since those are translated once.
        repeated += [f"{line} ({len(repeated) + number})" for number, line in enumerate(lines)]
    text = "\n".join(repeated)[:characters]
    sentences = text.split("\n")
    paragraphs = [" ".join(sentences[start : start + 5]) for start in range(0, len(sentences), 5)]
    tagged = (
        line.replace(" ", " <b>", 1).replace(" ", "</b> ", 2).replace("</b> ", " ", 1) for line in sentences
    )
    return {
        "lines.txt": text,
        "paragraphs.txt": "\n\n".join(paragraphs),
        "one-line.txt": " ".join(sentences),
        "tags.html": "".join(f"<p>{line}</p>\n" for line in tagged)[:characters],
    }


@contextmanager
def watch_server(server: int, address: str) -> Iterator[dict[str, float]]:
    """Request /health and read the server's memory until the block ends; then fill the dictionary."""
    figures: dict[str, float] = {}
    times: list[float] = []
    sizes = [memory(server)]
    over = threading.Event()

    def watch() -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=300)
        while not over.wait(0.05):
            began = time.perf_counter()
            connection.request("GET", "/health")
            connection.getresponse().read()
            times.append(time.perf_counter() - began)
            sizes.append(memory(server))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield figures
    finally:
        over.set()
        thread.join()
        ordered = sorted(times) or [0.0]
        figures |= {
            "health_p50_ms": round(1000 * ordered[len(ordered) // 2], 1),
            "health_max_ms": round(1000 * ordered[-1], 1),
            "memory_mb": round(sizes[0], 1),
            "memory_peak_mb": round(max(sizes), 1),
        }


def upload(address: str, name: str, text: str, named: dict[str, str]) -> http.client.HTTPConnection:
    """Send a document; the answer is still to be read."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in named.items()
    ]
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    body = "".join([*parts, f"--{BOUNDARY}\r\n{head}\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n"]).encode()
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=900)
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    connection.request("POST", "/translate_file", body, kind)
    return connection


def wait_for_answer(connection: http.client.HTTPConnection) -> None:
    """Wait for the answer."""
    answer = connection.getresponse()
    content = answer.read().decode()
    if answer.status != 200:
        raise SystemExit(f"{answer.status}: {content}")


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_abandoned_upload(
    server: int, address: str, send: Callable[[], http.client.HTTPConnection]
) -> dict[str, float]:
    """Leave after five seconds; return the seconds until the server is idle, and the growth of its memory."""
    connection = send()
    time.sleep(5)
    connection.close()
    began, before = time.perf_counter(), memory(server)
    while True:
        used = processor_seconds(server)
        time.sleep(0.5)
        if processor_seconds(server) - used < 0.05:
            break
    seconds = round(time.perf_counter() - began - 0.5, 1)
    return {"busy_seconds": seconds, "memory_growth_mb": round(memory(server) - before, 1)}


def measure_clients(
    address: str,
    lines: Sequence[str],
    named: dict[str, str],
    rounds: int,
    send: Callable[[], http.client.HTTPConnection],
) -> dict[str, Any]:
    """Return the throughput of 64 clients alone and beside an upload, in turn."""
    alone, shared = [], []
    for _ in range(rounds):
        alone.append(loaded(address, lines, named, 64)["sentences_per_second"])
        connection = send()
        time.sleep(1)
        shared.append(loaded(address, lines, named, 64)["sentences_per_second"])
        connection.close()
        time.sleep(2)
    share = statistics.median(b / a for a, b in zip(alone, shared, strict=True))
    return {"alone": alone, "beside_an_upload": shared, "share": round(share, 3)}


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--src", required=True, nargs="+", help="source sentences, one a line")
    parser.add_argument("--characters", type=int, default=CHARACTERS)
    parser.add_argument("--only", nargs="+", help="names of the documents")
    parser.add_argument("--rounds", type=int, default=3, help="of the clients without and beside an upload")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [line for file in options.src for line in read_lines(file, "utf-8") if line.strip()]
    texts = make_documents(lines, options.characters)
    serve = [sys.executable, "-m", "multihead", "serve", options.run, "--port", "0", "--deadline", "900"]
    serve += ["--precision", options.precision]
    result: dict[str, Any] = {"characters": options.characters, "documents": {}}
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for name in options.only or texts:
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=environ) as server:
            assert server.stdout is not None
            address, named = "", {}
            while not address.startswith("http://"):
                address = server.stdout.readline().strip()
                if " to " in address:
                    named = dict(
                        zip(("source", "target"), address.partition(":")[0].split(" to "), strict=True)
                    )
            try:
                loaded(address, lines[:200], named, 8)
                send = lambda: upload(address, name, texts[name], named)  # noqa: E731, B023
                with watch_server(server.pid, address) as figures:
                    began, used = time.perf_counter(), processor_seconds(server.pid)
                    wait_for_answer(send())
                    seconds = round(time.perf_counter() - began, 1)
                    used = round(processor_seconds(server.pid) - used, 1)
                result["documents"][name] = {"seconds": seconds, "processor_seconds": used, **figures}
                print(name, result["documents"][name], flush=True)
                if name == (options.only or ["lines.txt"])[0]:
                    result["abandoned"] = measure_abandoned_upload(server.pid, address, send)
                    print(result["abandoned"], flush=True)
                    result["clients"] = measure_clients(address, lines, named, options.rounds, send)
                    print(result["clients"], flush=True)
            finally:
                server.terminate()
    result["environment"] = environment({})
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
