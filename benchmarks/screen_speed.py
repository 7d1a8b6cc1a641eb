"""Speed and output of search with and without the screened output layer (`native/screen.h`).

    python benchmarks/screen_speed.py [RUN] [SOURCE] [--threads 1] [--rounds 5] [--write]

Translates the file with the run's model in bf16, with and without the screen, interleaved, greedily and with
a beam of 5. Prints JSON: seconds of each round, the number of translations with the same words, and the
differences of their log-probabilities; with --write also to results/bench-screen.json. Run nothing beside it.
Exits with a message where there is no such run, or the processor gains nothing from the screen.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import tyro

from multihead.engines.native import screen
from multihead.engines.native.screen import FASTER, Screen
from multihead.run.environment import environment
from multihead.system import hardware
from multihead.tasks.translation.lines import Translation, Translator
from multihead.text.corpus import read_lines

RESULT = Path(__file__).parents[1] / "results" / "bench-screen.json"


def main(
    run: tyro.conf.Positional[Path] = Path("runs/multi30k-de-en-fast"),
    source: tyro.conf.Positional[str] = "data/multi30k/test_2016_flickr.de.gz",
    threads: int = 1,
    rounds: int = 5,
    write: bool = False,
) -> None:
    """Measure, print."""
    torch.set_num_threads(threads)
    hardware.keep_memory()
    if not run.is_dir() or not Screen.pays(10**6, 1, "bfloat16"):
        print(f"nothing to measure: no {run}, or none of these processors: {', '.join(FASTER)}")
        return
    translator, lines = Translator.load(run, device="cpu", precision="bf16"), list(read_lines(source))
    measured = {f"beam {beam}": _measure(translator, lines, beam, rounds) for beam in (1, 5)}
    settings = {"sentences": len(lines), "threads": threads, "rounds": rounds}
    told = json.dumps({"environment": environment({}), "settings": settings, "measured": measured}, indent=2)
    print(told)
    if write:
        RESULT.write_text(told + "\n", encoding="utf-8")


def _measure(translator: Translator, lines: list[str], beam: int, rounds: int) -> dict[str, Any]:
    how = {"beam_size": beam, "method": "beam" if beam > 1 else "greedy", "n_best": 1}
    settings = translator.settings.model_copy(update=how)
    seconds: dict[str, list[float]] = {"screened": [], "whole": []}
    found: dict[str, list[Translation]] = {}
    for _ in range(rounds + 1):
        for name, times in seconds.items():
            with patch.object(
                screen, "OUTPUTS_PER_K", screen.OUTPUTS_PER_K if name == "screened" else sys.maxsize
            ):
                begun = time.perf_counter()
                found[name] = translator.translate(lines, settings)
                times.append(round(time.perf_counter() - begun, 4))
    pairs = list(zip(found["screened"], found["whole"], strict=True))
    same = [(one, other) for one, other in pairs if one.text == other.text]
    apart = [abs(_log_probability(one) - _log_probability(other)) for one, other in same]
    rounds_of = {name: times[1:] for name, times in seconds.items()}  # the first ones warm up
    ratios = [whole / screened for screened, whole in zip(*rounds_of.values(), strict=True)]
    return {
        "seconds": rounds_of,
        "screened_is_faster_by": round(statistics.median(ratios), 3),
        "same_words": len(same),
        "log_probability_apart": {"mean": round(statistics.mean(apart), 5), "most": round(max(apart), 5)},
    }


def _log_probability(translation: Translation) -> float:
    return translation.hypotheses[0].log_probability if translation.hypotheses else 0.0


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
