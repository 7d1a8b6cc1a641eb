"""Two hosts, made of network namespaces: their link is cut for 5 s, one is killed and joins again.

    sudo python benchmarks/two_hosts.py

Trains the same small model by one process, then by torchrun on two hosts of one process each, undisturbed,
with the link cut, and with all processes of one host killed and started again. torchrun runs in the loop of
docs/how-to/parallel.md, because it gives up where a whole host is lost. Every training must end with the
weights of the first, byte for byte. Writes results/two-hosts.json. Needs the right to make network
namespaces, and `ip`; the namespaces are removed at the end.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from multihead.run.environment import environment
from multihead.system.disk import sha256

RESULT = Path(__file__).parents[1] / "results" / "two-hosts.json"
HOSTS = {"multihead-a": "10.77.13.1", "multihead-b": "10.77.13.2"}
PORT = 29413
RETURN_SECONDS = 5
"""Until the killed host returns."""
LOOP = 'for attempt in 1 2 3 4 5; do "$@" && exit 0; sleep 2; done; exit 1'
"""Shell script that starts torchrun again after it gave up."""
CUT_SECONDS = 5
SETTINGS = {
    "tokenizer.kind": "chars",
    "model.d_model": 32,
    "model.d_ff": 64,
    "model.num_heads": 2,
    "model.num_layers": 1,
    "training.steps": 400,
    "training.batch_tokens": 521,
    "training.accumulate": 4,
    "training.threads": 1,
    "training.precision": "fp32",
    "training.save_minutes": 0.02,
    "validation.every": 400,
    "validation.max_examples": 5,
    "search.max_length": 7,
}


def run(*command: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, capture_output=True)


def link_of(host: str) -> str:
    """Return the name of a host's network interface."""
    return f"mh-{host[-1]}"


@contextmanager
def hosts() -> Iterator[None]:
    """Make the hosts and the link between them; remove them at the end."""
    one, other = HOSTS
    try:
        for name in HOSTS:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", link_of(one), "type", "veth", "peer", "name", link_of(other))
        for name, address in HOSTS.items():
            run("ip", "link", "set", link_of(name), "netns", name)
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", link_of(name))
            run("ip", "-n", name, "link", "set", link_of(name), "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in HOSTS:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def words(folder: Path, name: str) -> list[str]:
    """Return the words of the training command."""
    keys = [part for key, value in SETTINGS.items() for part in (f"--{key}", str(value))]
    files = ["--src", str(folder / "train.de"), "--tgt", str(folder / "train.en")]
    return ["-m", "multihead", "train", *files, "--run", str(folder / name), *keys]


def started(host: str, folder: Path, name: str) -> subprocess.Popen[bytes]:
    """Start torchrun on a host, as a process group of its own."""
    serves = str(host == "multihead-a").lower()  # torchrun cannot tell by the address here
    torchrun = ["-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
    torchrun += ["--max-restarts", "3", "--rdzv-backend", "c10d", "--rdzv-conf", f"is_host={serves}"]
    torchrun += ["--rdzv-endpoint", f"{HOSTS['multihead-a']}:{PORT}"]
    torchrun += ["--rdzv-id", name, "--local-addr", HOSTS[host], "--no-python"]
    loop = ["ip", "netns", "exec", host, "sh", "-c", LOOP, "torchrun"]
    command = [*loop, sys.executable, *torchrun, "--", sys.executable]
    variables = {"GLOO_SOCKET_IFNAME": link_of(host), "OMP_NUM_THREADS": "1", "CI": "1"}
    with (folder / f"{name}-{host}.log").open("ab") as log:
        return subprocess.Popen(
            [*command, *words(folder, name)],
            env=os.environ | variables,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def updates(folder: Path, name: str) -> int:
    """Return the number of updates that are logged or saved so far."""
    states = (folder / name / "checkpoints").glob("state-*.safetensors")
    return max((int(path.stem.split("-")[1]) for path in states), default=0)


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise SystemExit("it takes too long; the logs tell why")
        time.sleep(0.05)


def descendants(process: int) -> list[int]:
    """Return a process and all that it started, of whatever session."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True)
    return [process, *(one for child in map(int, found.stdout.split()) for one in descendants(child))]


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a host's processes: the loop, torchrun, and the workers."""
    for pid in descendants(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def undisturbed(folder: Path, name: str, running: dict[str, subprocess.Popen[bytes]]) -> None:
    """Do nothing."""


def cut(folder: Path, name: str, running: dict[str, subprocess.Popen[bytes]]) -> None:
    """Cut the link for a while."""
    wait_for(lambda: updates(folder, name) > 20)
    run("ip", "-n", "multihead-b", "link", "set", link_of("multihead-b"), "down")
    time.sleep(CUT_SECONDS)
    run("ip", "-n", "multihead-b", "link", "set", link_of("multihead-b"), "up")


def killed(folder: Path, name: str, running: dict[str, subprocess.Popen[bytes]]) -> None:
    """Kill the second host, and start it again."""
    wait_for(lambda: updates(folder, name) > 20)
    kill(running["multihead-b"])
    time.sleep(RETURN_SECONDS)
    running["multihead-b"] = started("multihead-b", folder, name)


def trained(
    folder: Path, name: str, disturb: Callable[[Path, str, dict[str, subprocess.Popen[bytes]]], None]
) -> dict[str, Any]:
    """Train on both hosts; return the hash of the weights, exit codes and seconds."""
    began = time.monotonic()
    running = {host: started(host, folder, name) for host in HOSTS}
    try:
        disturb(folder, name, running)
        codes = [running[host].wait(240) for host in HOSTS]
    finally:
        for process in running.values():
            if process.poll() is None:
                kill(process)
    weights = folder / name / "model.safetensors"
    digest = sha256(weights) if weights.exists() else ""
    return {"exit codes": codes, "sha256": digest, "seconds": round(time.monotonic() - began, 1)}


def main() -> None:
    """Train, compare and write."""
    if not shutil.which("ip") or os.geteuid():
        raise SystemExit("needs root and `ip`, to make network namespaces")
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as temporary, hosts():
        folder = Path(temporary)
        lines = ["".join(chance.choices("abcdefgh", k=chance.randint(3, 17))) for _ in range(701)]
        (folder / "train.de").write_text("".join(f"{line}\n" for line in lines))
        (folder / "train.en").write_text("".join(f"{line[::-1]}\n" for line in lines))
        alone = [sys.executable, *words(folder, "alone")]
        subprocess.run(alone, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        expected = sha256(folder / "alone" / "model.safetensors")
        found: dict[str, Any] = {}
        for disturb in (undisturbed, cut, killed):
            found[disturb.__name__] = trained(folder, disturb.__name__, disturb)
            print(disturb.__name__, found[disturb.__name__], flush=True)
            if found[disturb.__name__]["sha256"] != expected:
                for host in HOSTS:
                    print((folder / f"{disturb.__name__}-{host}.log").read_text()[-3000:])
    same = all(one["sha256"] == expected for one in found.values())
    result = {"updates": SETTINGS["training.steps"], "one process": expected, **found, "same bytes": same}
    RESULT.write_text(json.dumps({**result, "environment": environment({})}, indent=1) + "\n")
    sys.exit(not same)


if __name__ == "__main__":
    main()
