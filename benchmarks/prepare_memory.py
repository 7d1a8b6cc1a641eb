"""Memory used from text files to the first batch.

    python benchmarks/prepare_memory.py --pairs 10000000
    python benchmarks/prepare_memory.py --pairs 400000 --processes 2

writes a corpus of that many made-up pairs to a temporary folder (about 200 bytes a pair), prepares it in
a child process up to the first training batch, and samples the child's anonymous memory (RssAnon in
/proc, Linux only). Prints JSON: the peak above that of a bare interpreter, in MiB, with the seconds that
it took; `stages` says where. With --processes the text is encoded by so many processes, of which only the
first is sampled.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tyro

WORDS = 200_000
BLOCK = 20_000
CHILD = """
import sys
from multihead.data.batches import BatchStream
from multihead.data.prepare import prepare
from multihead.recipe.settings import DataSettings, TokenizerSettings

print("import", flush=True)
stage = None
def progress(now, done, total):
    global stage
    if now != stage:
        stage = now
        print(now, flush=True)

files = {"source": ("train.a",), "target": ("train.b",), "cache": sys.argv[1] + "/cache"}
data = DataSettings(dir=sys.argv[1], processes=int(sys.argv[3]), **files)
prepared = prepare(data, TokenizerSettings(vocab_size=int(sys.argv[2])), progress=progress)
print("first batch", flush=True)
symbols = {"pad_id": 0, "bos_id": 2, "eos_id": 3}
next(iter(BatchStream(prepared.train, batch_tokens=4096, seed=1, **symbols)))
"""


def main(pairs: int = 1_000_000, vocab_size: int = 8000, processes: int = 1) -> None:
    """Measure, and print the result as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), pairs)
        bare = _anonymous(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        found = _measured([folder, str(vocab_size), str(processes)], bare)
        print(json.dumps({"pairs": pairs, "processes": processes, "bare_mib": bare, **found}, indent=2))


def write_corpus(folder: Path, pairs: int) -> None:
    """Write train.a and train.b: about 20 words a sentence, of a Zipf-like distribution."""
    rng, count = np.random.default_rng(1), min(WORDS, 10 * pairs)
    syllables = [first + second for first in "bdfghklmnprstvw" for second in ("a", "e", "i", "o", "u", "ei")]
    words = ["".join(rng.choice(syllables, rng.integers(1, 5))) for _ in range(count)]
    odds = 1 / np.arange(10, count + 10)
    steps = np.cumsum(odds / odds.sum())
    for name in ("train.a", "train.b"):
        with (folder / name).open("w", encoding="utf-8") as file:
            for start in range(0, pairs, BLOCK):
                lengths = rng.integers(5, 36, min(BLOCK, pairs - start))
                drawn = iter(np.searchsorted(steps, rng.random(lengths.sum())).tolist())
                for length in lengths:
                    file.write(" ".join(words[next(drawn)] for _ in range(length)) + "\n")


def _measured(given: list[str], bare: float) -> dict[str, object]:
    """Prepare the corpus in a child process; return its greatest memory, and that of each stage."""
    begun = time.monotonic()
    log = Path(given[0]) / "stages"
    with log.open("w+") as stages:
        child = subprocess.Popen([sys.executable, "-c", CHILD, *given], stdout=stages)
        peaks: dict[str, float] = {}
        ends: dict[str, float] = {}
        while child.poll() is None:
            stage = log.read_text().split("\n")[-2:][0] or "start"
            peaks[stage] = max(peaks.get(stage, 0.0), _anonymous_of(child.pid) - bare)
            ends[stage] = time.monotonic() - begun
            time.sleep(0.02)
    if child.returncode:
        raise SystemExit(child.returncode)
    found = {
        stage: {"peak_mib": round(peak, 1), "until_s": round(ends[stage], 1)} for stage, peak in peaks.items()
    }
    return {
        "peak_mib": round(max(peaks.values()), 1),
        "seconds": round(time.monotonic() - begun, 1),
        "stages": found,
    }


def _anonymous(process: "subprocess.Popen[bytes]") -> float:
    """Return a waiting process's anonymous memory in MiB, and let it end."""
    time.sleep(0.5)
    found = _anonymous_of(process.pid)
    process.communicate(b"\n")
    return found


def _anonymous_of(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    sizes = [line.split()[1] for line in status.split("\n") if line.startswith("RssAnon")]
    return int(sizes[0]) / 1024 if sizes else 0.0


if __name__ == "__main__":
    tyro.cli(main)
