"""CPU time of an update of the recipe shakespeare-char-cpu by AdamW, ours and nanoGPT's, in turns.

    python benchmarks/peers/gpt.py FOLDER [--write]

FOLDER has nanoGPT's model.py. One thread, and the allocator's setting for both; the smallest of the rounds
counts, because other work on the machine only ever adds. Batches are random: time does not depend on what is
in them. Prints JSON; with --write also to results/bench-gpt-peers.json.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from multihead import recipe as recipes
from multihead.batch import TextBatch
from multihead.models.gpt import GPT
from multihead.run.environment import environment
from multihead.system import hardware
from multihead.training import optimizers
from multihead.training.update import Updater

ROUNDS, UPDATES = 11, 8
LETTERS = 65
RESULT = Path(__file__).parents[2] / "results" / "bench-gpt-peers.json"


def ours(precision: str) -> Callable[[], None]:
    """Return what makes one update of ours."""
    own = {"training.precision": precision, "training.optimizer": "adamw", "model.vocab_size": LETTERS}
    recipe: Any = recipes.load("shakespeare-char-cpu", own)
    model = GPT(recipe.model)
    optimizer = optimizers.make_optimizer(model, recipe.training)
    optimizers.set_rate(optimizer, 1e-3)
    updater = Updater(model, optimizer, recipe.training, torch.device("cpu"))
    rows = recipe.training.batch_tokens // recipe.model.context
    return lambda: (
        updater.update(1, [TextBatch(torch.randint(0, LETTERS, (rows, recipe.model.context + 1)))]) and None
    )


def nanogpt(folder: Path) -> Callable[[], None]:
    """Return what makes one update of nanoGPT's, as its train.py does on a CPU."""
    sys.path.insert(0, str(folder))
    theirs: Any = __import__("model")
    config = theirs.GPTConfig(
        block_size=64, vocab_size=LETTERS, n_layer=4, n_head=4, n_embd=128, dropout=0.0, bias=False
    )
    model = theirs.GPT(config)
    optimizer = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")

    def update() -> None:
        ids = torch.randint(0, LETTERS, (12, 65))
        _, loss = model(ids[:, :-1], ids[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    return update


def main(folder: Annotated[Path, tyro.conf.Positional], write: bool = False) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    hardware.keep_memory()
    updates = {"ours, bf16": ours("bf16"), "ours, fp32": ours("fp32"), "nanoGPT, fp32": nanogpt(folder)}
    spent: dict[str, list[float]] = {name: [] for name in updates}
    for number in range(ROUNDS):
        for name, update in updates.items():
            began = time.process_time()
            for _ in range(UPDATES):
                update()
            if number:  # the first round warms up
                spent[name].append((time.process_time() - began) / UPDATES * 1000)
    measured = {
        name: {"smallest": round(min(times), 2), "median": round(statistics.median(times), 2)}
        for name, times in spent.items()
    }
    told = json.dumps({"milliseconds_an_update": measured, "environment": environment({})}, indent=2)
    print(told)
    if write:
        RESULT.write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
