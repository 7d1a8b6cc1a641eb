"""Train in several processes with Ray Train; what follows ``--`` are the arguments of ``multihead train``.

    pip install 'ray[train]'
    python examples/ray_train.py --workers 2 -- RECIPE --run /shared/runs/de-en --training.accumulate 4

On the cluster that RAY_ADDRESS names, or on this machine. Files lie on a disk that all machines share. Ray
starts all workers again when one of them dies, and the training resumes from its last saved state.
"""

import argparse
import os
import socket
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers

import ray
import torch
import torch.distributed as dist
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

# A process of its own, because a worker runs its function outside the main thread, which receives signals.
CHILD = (
    "import sys; from multihead.cli import main; from multihead.training.interrupt import stop_with_parent; "
    "stop_with_parent(); sys.exit(main(['train', *sys.argv[1:]]))"
)
BAD_INPUT = 2
"""Exit code of an error that the user has to correct: starting again would not help."""


def work(config: dict) -> int:
    """Train in one worker of Ray, which has set RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR."""
    # Ray's own process group keeps MASTER_PORT; it serves to agree on another one.
    with socket.socket() as opened:
        opened.bind(("", 0))
        port = torch.tensor([opened.getsockname()[1]])
    dist.broadcast(port, src=0)
    environment = {**os.environ, "MASTER_PORT": str(port.item())}
    command = [sys.executable, "-c", CHILD, *config["arguments"]]
    code = subprocess.run(command, env=environment, cwd=config["folder"], check=False).returncode
    if code not in (0, BAD_INPUT):
        raise RuntimeError(f"multihead train has ended with exit code {code}")
    return code


def main() -> int:
    """Start the workers, wait for them, and return the exit code of ``multihead train``."""
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, arguments = sys.argv[1:split], sys.argv[split + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes; at most training.accumulate")
    parser.add_argument("--gpu", action="store_true", help="give each process a GPU")
    parser.add_argument("--cpus", type=int, default=1, help="processor cores of each process")
    parser.add_argument("--restarts", type=int, default=3, help="times to start again after a worker died")
    parser.add_argument("--storage", help="folder that all machines share, for Ray's own records")
    given = parser.parse_args(options)
    ray.init(runtime_env={"env_vars": {"OMP_NUM_THREADS": str(given.cpus)}})
    trainer = TorchTrainer(
        work,
        train_loop_config={"arguments": arguments, "folder": str(Path.cwd())},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(
            num_workers=given.workers,
            use_gpu=given.gpu,
            resources_per_worker={"CPU": given.cpus, **({"GPU": 1} if given.gpu else {})},
        ),
        run_config=RunConfig(
            storage_path=given.storage, failure_config=FailureConfig(max_failures=given.restarts)
        ),
    )
    return int(trainer.fit().return_value)


if __name__ == "__main__":
    sys.exit(main())
