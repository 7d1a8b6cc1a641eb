"""The scripts for Slurm, with its commands replaced by a line of shell each."""

import os
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
STUBS = {
    "scontrol": "printf 'node7\\nnode8\\n'",
    "srun": "shift; for SLURM_PROCID in 0 1 2; do "
    'export SLURM_PROCID SLURM_LOCALID=$SLURM_PROCID; "$@"; done',
    "multihead": 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR:$MASTER_PORT $OMP_NUM_THREADS: $*"',
}
SLURM = {
    "SLURM_JOB_NODELIST": "node[7-8]",
    "SLURM_JOB_ID": "61237",
    "SLURM_NTASKS": "3",
    "SLURM_CPUS_PER_TASK": "5",
    "SLURM_ARRAY_TASK_ID": "12",
    "SLURM_ARRAY_TASK_MIN": "11",
    "SLURM_ARRAY_TASK_COUNT": "4",
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    for name, body in STUBS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    others = {"RANK": "", "WORLD_SIZE": "", "LOCAL_RANK": "", "MASTER_ADDR": "", "MASTER_PORT": ""}
    return {**others, **SLURM, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def output(script: str, environ: dict[str, str], *arguments: str) -> list[str]:
    command = ["bash", str(EXAMPLES / script), *arguments]
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_each_task_of_slurm_becomes_a_rank(environ: dict[str, str]) -> None:
    found = output("slurm_train.sh", environ, "recipe", "--run", "a b")
    assert found == [f"{rank}/3 {rank} node7:21237 5: train recipe --run a b" for rank in range(3)]


def test_each_task_of_an_array_translates_its_part(environ: dict[str, str]) -> None:
    (found,) = output("slurm_translate.sh", environ, "run", "in", "out", "--beam-size", "3")
    assert found.endswith("5: translate run -i in -o out --part 2/4 --beam-size 3")
