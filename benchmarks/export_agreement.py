"""Count the sentences that exports of a run translate as the run does, in the runtimes they are for.

    python benchmarks/export_agreement.py RUN [--write]

Exports to ONNX and the transformers library in float32, each of which compares up to 500 sentences
(200 in transformers) when it is made. Prints JSON; with --write also to results/export-agreement.json.
"""

import json
import tempfile
from pathlib import Path
from typing import Annotated

import tyro

from multihead.apps.export import comparison
from multihead.cli import main as command
from multihead.run.environment import environment

RESULT = Path(__file__).parents[1] / "results" / "export-agreement.json"
TARGETS = ("onnx", "huggingface")


def main(run: Annotated[Path, tyro.conf.Positional], write: bool = False) -> None:
    """Export, collect what was compared, and print."""
    found: dict[str, object] = {"run": run.name}
    for target in TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / target
            assert command(["export", str(run), "--to", target, "-o", str(made)]) == 0, target
            found[target] = json.loads((made / comparison.NAME).read_text(encoding="utf-8"))
    found["environment"] = environment({})
    print(json.dumps(found, indent=2))
    if write:
        RESULT.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
