"""What a training tells while it runs: bars on a terminal, one plain line an interval elsewhere."""

import time
from collections.abc import Mapping, Sequence
from textwrap import indent
from types import TracebackType
from typing import Any, Self

import torch
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text
from torch import nn

from multihead import hardware
from multihead.recipe import Recipe
from multihead.settings import Settings, tasks
from multihead.terminal import escape_unprintable

PATIENCE = 10.0
"""Seconds between two plain lines about one stage of preparation."""


class ProgressDisplay:
    """Watches a training from the corpus on; an ``Observer`` of ``workflows.train``.

    The bars are there inside a ``with`` block.

    Attributes:
        began: the step that this start began after.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bars = _Bars(console)
        self._spoke = time.monotonic()
        self._steps = 0
        self._left, self._unit = "", "tokens"
        self.began = 0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    # --- preparation --------------------------------------------------------------------------------

    def preparing(self, stage: str, done: int, total: int | None) -> None:
        """Show how far a stage has come."""
        self._bars.show(stage, done, total, f"{done:,}" if done else "")
        at_ends = not done or done == total
        if not self.console.is_terminal and (at_ends or time.monotonic() - self._spoke > PATIENCE):
            self._spoke = time.monotonic()
            self.console.print(f"{stage}: {done:,}" if done else stage)

    def prepared(self, told: Sequence[str], tokens_an_epoch: int) -> None:
        """Say what the data has turned out to be."""
        for line in told:
            self.console.print(escape_unprintable(line))

    # --- training -----------------------------------------------------------------------------------

    def begins(self, recipe: Recipe[Settings], model: nn.Module, device: torch.device, step: int) -> None:
        """Say what is trained on what."""
        self._steps, self._unit = recipe.training.steps, tasks.speed_unit(recipe.task)
        size = sum(parameter.numel() for parameter in model.parameters())
        machine = f"{device.type}, {hardware.training_precision(recipe.training.precision, device)}"
        if device.type == "cpu":
            threads = torch.get_num_threads()
            machine += f", {threads} thread{'s' if threads > 1 else ''}"
        self.console.print(f"{recipe.kind}: {size:,} parameters, on {machine}")
        self.began = step
        if 0 < step < self._steps:
            self.console.print(f"going on after step {step:,} of {self._steps:,}")
        self._bars.show("training", step, self._steps, "")

    def on_step(self, step: int) -> None:
        """Move the bar."""
        self._bars.show("training", step, self._steps, self._stand(step))

    def on_log(self, event: dict[str, Any]) -> None:
        """Show where the training stands."""
        step, self._left = event["step"], f"{duration(event['eta_seconds'])} left"
        facts = [
            f"loss {number(event['loss'])}",
            f"rate {event['rate']:.1e}",
            f"gradient norm {number(event['norm'])}",
            f"{event['tokens_per_second']:,.0f} {self._unit}/s",
        ]
        self._bars.show("training", step, self._steps, self._stand(step), facts)
        if not self.console.is_terminal:
            self.console.print("  ".join([f"step {step}/{self._steps}", *facts, self._left]))

    def _stand(self, step: int) -> str:
        return f"{step:,}/{self._steps:,}  {self._left}"

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        """Print what validation gave, and the sample translations."""
        heading = Text(f"step {event['step']:,}", style="bold")
        heading.append(f"  {told(event)}", style="not bold")
        self.console.print(heading, soft_wrap=not self.console.is_terminal)
        if event["best"]:
            self.console.print("  best so far", style="green")
        self.say(samples)

    def say(self, text: str) -> None:
        """Print some lines, set in; on a terminal also where they are too long for it."""
        text = escape_unprintable(text, keep="\n\t")
        if self.console.is_terminal:
            self.console.print(Padding(Text(text), (0, 0, 1, 2), expand=False), soft_wrap=False)
        else:
            self.console.print(indent(text, "  ") + "\n")


class _Bars(Progress):
    """One bar for what is going on now, and a line of facts below it. Nothing where there is no terminal."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[stand]}", markup=False),
        )
        self._task: TaskID | None = None
        self._facts = ""
        super().__init__(
            *columns, console=console, transient=True, expand=True, disable=not console.is_terminal
        )

    def show(
        self, what: str, done: int, total: int | None, stand: str, facts: Sequence[str] | None = None
    ) -> None:
        """Show another stand; and other facts, if any are given."""
        if self._task is None:
            self._task = self.add_task(what, total=total, stand=stand)
        if facts is not None:
            self._facts = "   ".join(facts)
        self.update(self._task, description=what, completed=done, total=total, stand=stand)

    def get_renderables(self) -> Any:
        """Give the bar, and the facts below it."""
        yield from super().get_renderables()
        if self._facts:
            facts: RenderableType = Text(self._facts, style="dim", no_wrap=True, overflow="ellipsis")
            yield facts


def told(metrics: Mapping[str, Any]) -> str:
    """Return metrics in one line; steps and flags are left out."""
    return "  ".join(f"{name} {number(value)}" for name, value in metrics.items() if isinstance(value, float))


def number(value: float) -> str:
    """Return a measured number with as many digits as one wants to read."""
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    digits = 0 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f}"


def duration(seconds: float) -> str:
    """Return a time as people read it: ``0:42``, ``12:03``, ``3:04:05``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
