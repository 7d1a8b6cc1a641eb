"""The process of a contestant in translation: it receives sentences and returns translations and times.

A peer is a file beside this one that calls ``serve(load)``. It runs in its own environment, so nothing here
needs more than the standard library.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

Ids = list[list[int]]
Translate = Callable[[Ids, int], Ids]
"""(source ids without end symbol, beam size) -> target ids without begin and end symbol, in that order."""
Texts = Callable[[Ids, int], list[str]]
"""The same of an engine that gives texts."""


def serve(load: Callable[[Path, dict[str, object]], Translate | Texts]) -> None:
    """Load, say so, and answer requests until the input ends.

    The command line is FOLDER and the settings as JSON; a request ``{"beam": 5, "ids": [], "alone": false}``.
    With ``alone`` the sentences are translated one by one, as a person asks for them.
    """
    folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
    answers = sys.stdout
    sys.stdout = sys.stderr  # libraries like to talk
    translate = load(folder, settings)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        groups: Sequence[Ids] = [[one] for one in asked["ids"]] if asked["alone"] else [asked["ids"]]
        start, cpu = time.perf_counter(), time.process_time()
        found = [output for group in groups for output in translate(group, asked["beam"])]
        answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "ids": found}
        print(json.dumps(answer), file=answers, flush=True)
